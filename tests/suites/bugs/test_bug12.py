"""bug12: heads merged without transposing back."""

from grader.attention import claims as attention
from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise5.py")
contract = variant.contract

test_every_token_gets_its_own_results = attention.mistake_is_gone(
    "heads-merged-without-transposing",
    why="Each token gets its own heads' results side by side, and no other token's.",
)

globals().update(checks_of(variant))
