"""bug1: scaling after the softmax."""

from grader.attention import claims as attention
from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise2.py")
contract = variant.contract

test_outputs_no_longer_shrink_with_the_width = attention.mistake_is_gone(
    "scaled-after-the-softmax",
    why="A weighted mean of the values is as large as they are, whatever the width.",
)

globals().update(checks_of(variant))
