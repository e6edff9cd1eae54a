"""bug1: scaling after the softmax."""

from grader.suite import claims
from grader.suite.reuse import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise2.py")
subject = variant.subject

test_outputs_no_longer_shrink_with_the_width = claims.mistake_is_gone(
    "scaled-after-the-softmax",
    why="A weighted mean of the values is as large as they are, whatever the width.",
)

globals().update(checks_of(variant))
