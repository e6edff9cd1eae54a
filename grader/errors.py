"""The errors that a person is shown as one line."""


class GradeError(Exception):
    """Something that the person at the keyboard can mend; its text is one clear line.

    Attributes:
        exit_code: What the command exits with: 2 for usage.
    """

    exit_code = 2


class GraderFault(GradeError):
    """The grader or the machine could not grade; the submission is not to blame."""

    exit_code = 3


class TakesLong(GradeError):
    """A grading takes longer than others are to wait for it; it is to be begun again, later."""


class MachineBusy(GraderFault):
    """The machine had no time for a submission; trying again may help."""
