"""The events that ``grade watch`` handles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.errors import GradeError
from grader.kit import Exercise
from grader.records import Report
from grader.records.progress import Progress
from grader.submission import Submission


@dataclass(frozen=True)
class FileSaved:
    """A file was saved."""

    path: Path


@dataclass(frozen=True)
class KeyPressed:
    """A key was pressed."""

    name: str


@dataclass(frozen=True)
class GradingEnded:
    """A grading ended; its outcome is None if it was stopped."""

    exercise: Exercise
    submission: Submission
    outcome: Report | GradeError | None


@dataclass(frozen=True)
class GradingUnderWay:
    """A grading has come so far."""

    progress: Progress


class Redraw:
    """The screen is to be drawn again: the terminal was resized, or the process resumed."""


WatchEvent = FileSaved | KeyPressed | GradingUnderWay | GradingEnded | Redraw
