"""What the candidates of a batch got, and how much of it each is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The status of a candidate's exercise, as the terminal, the page and the gradebook say it."""

    SOLVED = "solved"
    GRADED = "graded"  # and not solved
    DISAGREES = "disagrees"  # several gradings gave different scores
    AS_SENT = "as sent"  # the candidate, a person, handed the file back unchanged
    CANNOT_BE_TRIED = "cannot be tried"
    CANNOT_BE_READ = "cannot be read"
    MISSING = "missing"
    NOT_GRADED = "not graded"  # not yet, or not possible, through no fault of the file
    WITHDRAWN = "withdrawn"  # the file was handed in once, and is no longer there

    @property
    def scored(self) -> bool:
        """Whether an exercise with this status has a score, which may be 0."""
        return self not in (Status.NOT_GRADED, Status.WITHDRAWN)


class FeedbackDepth(StrEnum):
    """How much a candidate's page of feedback tells; each depth adds to those before it."""

    SCORE = "score"  # the total, and each exercise's points and status
    CHECKS = "checks"  # which checks passed and failed, in plain words
    CAUSE = "cause"  # the mistake, where one is known, and its advice


@dataclass(frozen=True)
class Score:
    """A candidate's score for one exercise.

    Attributes:
        earned: The points earned; of several gradings the lowest.
        possible: The points that could be earned.
        diagnosis: The names of the mistakes found.
        note: A note on the file: why there is nothing to grade, or where the file was found.
        marks: Short warnings for the team, in words that name nobody.
    """

    earned: int
    possible: int
    status: Status
    diagnosis: tuple[str, ...] = ()
    note: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class GradebookRow:
    """A candidate's line in the gradebook.

    Attributes:
        total: The weighted mean of the shares of points earned, 0 to 1; None if an exercise is not
            graded.
        scores: One score for each exercise, in the order of the columns.
        decision: The team's decision; empty if there is none.
        remarks: The team's remarks, the oldest first.
    """

    candidate: str
    total: float | None
    scores: Sequence[Score]
    decision: str = ""
    remarks: Sequence[str] = ()
