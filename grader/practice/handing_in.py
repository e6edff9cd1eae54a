"""The end of a mock interview: read the files handed in, and record their gradings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.stubs import expect_within, relative_to_cwd
from grader.practice import interview as interviews
from grader.practice.history import open_history
from grader.practice.interview import Interview
from grader.records import Report
from grader.submission import Submission, read_submission


@dataclass(frozen=True)
class HandedIn:
    """An interview as it was handed in.

    Attributes:
        interview: The record of the interview.
        at: When it was handed in.
        minutes: The minutes that each exercise took; None where that is not known.
        late: How many minutes after the deadline each exercise was last saved; 0 if in time.
        submissions: Each exercise with its file; a file that cannot be read is a submission with
            a problem, which earns nothing.
    """

    interview: Interview
    at: datetime
    minutes: dict[str, float | None]
    late: dict[str, float]
    submissions: list[tuple[Exercise, Submission]]


def hand_in(kit: Kit) -> HandedIn:
    """Read the interview's files for grading; the interview goes on until ``conclude`` ends it.

    Raises:
        GradeError: There is no interview, or its record is damaged.
    """
    current = interviews.read_record(kit.home)
    at, (minutes, late) = datetime.now(UTC), interviews.time_spent(kit, current)
    files = [(exercise, _handed(relative_to_cwd(exercise.file), kit)) for exercise in kit.exercises]
    return HandedIn(current, at, minutes, late, files)


def _handed(path: Path, kit: Kit) -> Submission:
    """Read a file that is handed in; one that cannot be read is a submission with a problem."""
    try:
        expect_within(path, kit)
        return read_submission(path)
    except GradeError as error:
        return Submission(path, "", problem=str(error))


def conclude(kit: Kit, handed: HandedIn, graded: Sequence[tuple[Report, str]]) -> None:
    """Record the gradings, each with its source, and end the interview.

    Raises:
        GradeError: The history or the folder cannot be written.
    """
    with open_history(kit) as history:
        for report, source in graded:  # a run that was stopped may have recorded some already
            history.record_once(report, source)
    interviews.close(kit, handed.interview, handed.at)
