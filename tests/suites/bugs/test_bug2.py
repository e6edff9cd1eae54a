"""bug2: dropout on the masked scores."""

from grader.attention import claims as attention
from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise3.py")
contract = variant.contract

test_training_with_a_mask_is_sound = attention.mistake_is_gone(
    "dropout-before-the-softmax",
    why="What is hidden stays hidden, and what is dropped is a connection.",
)

globals().update(checks_of(variant))
