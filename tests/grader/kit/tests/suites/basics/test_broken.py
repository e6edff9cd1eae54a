"""broken: the suite's own fault, which must never be the submission's."""

from grader.sandbox.remote import RemoteSubmission


def test_divides_by_zero(submission: RemoteSubmission) -> None:
    """A mistake of ours."""
    assert 1 / len([]) > 0
