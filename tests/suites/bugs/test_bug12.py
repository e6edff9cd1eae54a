"""bug12: heads merged without transposing back."""

from grader.suite import claims
from grader.suite.reuse import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise5.py")
subject = variant.subject

test_every_token_gets_its_own_results = claims.mistake_is_gone(
    "heads-merged-without-transposing",
    why="All heads of one token stand side by side, and nobody else's.",
)

globals().update(checks_of(variant))
