"""double: three checks that differ in the length of x, so that a case can fail one of them."""

from grader.sandbox.remote import RemoteSubmission
from grader.suite.compare import expect_close, expect_tensor
from grader.suite.draw import Draw
from grader.suite.marks import points


def doubled(submission: RemoteSubmission, draw: Draw, length: int) -> None:
    """2·x for x of this length."""
    x = draw.normal(length)
    out = expect_tensor(submission.function("double")(x), (length,), "output", "(T,)")
    expect_close(out, 2 * x.double())


@points(2)
def test_three_numbers(submission: RemoteSubmission, draw: Draw) -> None:
    """Doubled."""
    doubled(submission, draw, 3)


@points(1)
def test_five_numbers(submission: RemoteSubmission, draw: Draw) -> None:
    """Doubled."""
    doubled(submission, draw, 5)


@points(1)
def test_seven_numbers(submission: RemoteSubmission, draw: Draw) -> None:
    """Doubled."""
    doubled(submission, draw, 7)
