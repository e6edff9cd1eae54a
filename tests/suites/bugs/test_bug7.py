"""bug7: the number of heads overwritten, and heads cut in turns."""

from grader.attention import claims as attention
from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise5.py")
contract = variant.contract

test_heads_are_as_many_and_as_wide_as_asked = attention.mistake_is_gone(
    "heads-take-features-in-turns",
    "heads-merged-in-turns",
    "heads-count-and-size-swapped",
    why="H heads of D = C/H features, one head beside the other.",
)

globals().update(checks_of(variant))
