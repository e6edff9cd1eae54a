"""bug3: dropout that never switches off."""

from grader.attention import claims as attention
from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise4.py")
contract = variant.contract

test_evaluation_says_the_same_twice = attention.mistake_is_gone(
    "dropout-in-evaluation",
    "dropout-in-evaluation-at-half",
    why="Evaluation draws no random numbers.",
)

globals().update(checks_of(variant))
