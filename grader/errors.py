"""Errors that are shown to a person as one line."""


class GradeError(Exception):
    """An error that the person at the keyboard can fix; its text is one clear line.

    Attributes:
        exit_code: Exit status of the command; 2 stands for wrong usage.
    """

    exit_code = 2


class GraderFault(GradeError):
    """The grader or the machine could not grade; the submission is not to blame."""

    exit_code = 3


class TakesLong(GradeError):
    """A grading that takes too long for others to wait; it has to be started again later."""


class MachineBusy(GraderFault):
    """The machine had no time for a submission; trying again may help."""
