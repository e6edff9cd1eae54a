"""What happens while ``grade watch`` runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.errors import GradeError
from grader.kit import Exercise
from grader.records import Report
from grader.submission import Submission


@dataclass(frozen=True)
class Saved:
    """A file was saved."""

    path: Path


@dataclass(frozen=True)
class Key:
    """A key was pressed."""

    name: str


@dataclass(frozen=True)
class Graded:
    """A grading came to an end; without an outcome if it was stopped."""

    exercise: Exercise
    submission: Submission
    outcome: Report | GradeError | None


class Redraw:
    """The terminal has another size."""


WatchEvent = Saved | Key | Graded | Redraw
