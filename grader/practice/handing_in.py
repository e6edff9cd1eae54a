"""The end of a mock interview: what is handed in, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.stubs import own_path
from grader.practice import interview as interviews
from grader.practice.history import open_history
from grader.practice.interview import Interview, Spent
from grader.records import Report
from grader.submission import Submission, read_submission


@dataclass(frozen=True)
class HandedIn:
    """What an interview's folder holds at its end.

    Attributes:
        interview: Which it is.
        at: When it was handed in.
        spent: The time that each exercise took.
        submissions: The file of each exercise, one that cannot be read as what earns nothing.
    """

    interview: Interview
    at: datetime
    spent: dict[str, Spent]
    submissions: list[tuple[Exercise, Submission]]

    @property
    def minutes(self) -> dict[str, float | None]:
        """That each exercise took; None where that is not known."""
        return {name: one.minutes for name, one in self.spent.items()}

    @property
    def late(self) -> dict[str, float]:
        """How long after the end each was saved, in minutes; 0 if in time."""
        return {name: one.late for name, one in self.spent.items()}


def hand_in(kit: Kit) -> HandedIn:
    """Take in what there is, to be graded; the interview goes on until that is concluded.

    Raises:
        GradeError: There is no interview, or its record is damaged.
    """
    current = interviews.read(kit.home)
    at, taken = datetime.now(UTC), interviews.spent(kit, current)
    files = [(exercise, _handed(own_path(exercise))) for exercise in kit.exercises]
    return HandedIn(current, at, taken, files)


def _handed(path: Path) -> Submission:
    """A file as it is when the time is up."""
    try:
        return read_submission(path)
    except GradeError as error:
        return Submission(path, "", problem=str(error))


def conclude(kit: Kit, handed: HandedIn, graded: Sequence[tuple[Report, str]]) -> None:
    """Keep the gradings, each with its source, and end the interview.

    Raises:
        GradeError: The history or the folder cannot be written.
    """
    with open_history(kit) as history:
        for report, source in graded:  # some may be there since it was stopped
            history.record_once(report, source)
    interviews.close(kit, handed.interview, handed.at)
