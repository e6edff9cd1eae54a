"""bug4: the weights mix the input."""

from grader.attention import claims as attention
from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise1.py")
contract = variant.contract

test_every_layer_takes_part = attention.mistake_is_gone(
    "input-mixed-instead-of-values", why="A layer that the output does not depend on never learns."
)

globals().update(checks_of(variant))
