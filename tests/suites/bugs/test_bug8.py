"""bug8: √C instead of √D."""

from grader.attention import claims as attention
from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise5.py")
contract = variant.contract

test_maps_are_as_sharp_with_many_heads = attention.mistake_is_gone(
    "scaled-by-the-model-width",
    why="The softmax of a head sees scores of variance 1, however many heads there are.",
)

globals().update(checks_of(variant))
