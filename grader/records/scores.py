"""Status, Score, Row: what the candidates of a batch got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What came of a candidate's exercise, in the words of terminal, page and gradebook."""

    SOLVED = "solved"
    GRADED = "graded"  # and not solved
    DISAGREES = "disagrees"  # several gradings gave different scores
    AS_SENT = "as sent"  # nobody changed the file
    CANNOT_BE_TRIED = "cannot be tried"
    CANNOT_BE_READ = "cannot be read"
    MISSING = "missing"
    NOT_GRADED = "not graded"  # not yet, or through no fault of the file
    WITHDRAWN = "withdrawn"  # it was handed in once, and is there no longer

    @property
    def scored(self) -> bool:
        """Whether there are points to speak of, none at all included."""
        return self not in (Status.NOT_GRADED, Status.WITHDRAWN)


@dataclass(frozen=True)
class Score:
    """What a candidate got for one exercise.

    Attributes:
        earned: Points; of several gradings the lowest.
        possible: Points that could be earned.
        diagnosis: The mistakes found, by name.
        note: What there is to say of it: why there is nothing to grade, or where it was found.
        marks: What is to be minded, in words that name nobody.
    """

    earned: int
    possible: int
    status: Status
    diagnosis: tuple[str, ...] = ()
    note: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A candidate's line.

    Attributes:
        total: The weighted mean of the shares, 0 to 1; None where not all is graded.
        scores: One for each exercise, in the order of the columns.
        decision: Of the team; empty where there is none.
        remarks: What the team said, the oldest first.
    """

    candidate: str
    total: float | None
    scores: Sequence[Score]
    decision: str = ""
    remarks: Sequence[str] = ()
