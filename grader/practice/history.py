"""What a learner has done: every grading and every hint, in an SQLite file of the folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

import click
import msgspec

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.practice.store import open_database, trouble
from grader.records import Report, Verdict

Count = Annotated[int, msgspec.Meta(ge=0, le=10**6)]
# Verdicts of checks whose points are lost.
LOST = {str(one) for one in Verdict if one not in (Verdict.PASS, Verdict.SKIP)}


class Event(StrEnum):
    """What a learner does beside grading."""

    RESET = "reset"  # starts an exercise anew
    REVEALED = "revealed"  # reads our solution before it is solved
    SAVED = "saved"  # in an interview


class Grading(msgspec.Struct, frozen=True):
    """One grading of the past.

    Attributes:
        started: ISO 8601, UTC.
        seconds: How long it took.
        hints: How many had been shown before.
        checks: The verdict of each check.
        diagnosis: The sets of mistakes that reproduced what was wrong.
    """

    exercise: str
    started: str
    seconds: float
    earned: Count
    possible: Count
    solved: bool
    hints: Count
    checks: dict[str, str]
    diagnosis: list[list[str]]
    source: str

    @property
    def share(self) -> float:
        """The points earned, as a share of those that could be."""
        return self.earned / max(self.possible, 1)


class History:
    """The history of one folder; a context manager.

    Several processes may read and write at once: each change is a transaction of its own.

    Args:
        path: Of the file, which is made where it is missing; None for one that nobody keeps.

    Raises:
        GradeError: The file cannot be read or written, or is from a newer version.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection = open_database(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def hints(self, exercise: str) -> int:
        """How many hints of an exercise were shown."""
        rows = self._read("SELECT shown FROM hint WHERE exercise = ?", (exercise,))
        with self._expecting_ours():
            return max(int(rows[0][0]), 0) if rows else 0

    def show_hints(self, exercise: str, count: int) -> None:
        """Note that so many hints of an exercise were shown by now."""
        self._write(
            "INSERT INTO hint VALUES (?, ?) ON CONFLICT DO UPDATE SET shown = excluded.shown",
            (exercise, count),
        )

    def next_hint(self, exercise: Exercise) -> list[str]:
        """The hints of an exercise up to one more than was shown before."""
        count = min(self.hints(exercise.name) + 1, len(exercise.hints))
        self.show_hints(exercise.name, count)
        return list(exercise.hints[:count])

    def note(self, exercise: str, kind: Event, at: datetime | None = None) -> None:
        """Note that something was done; a reset puts the hints back too."""
        when = (at or datetime.now(UTC)).isoformat(timespec="milliseconds")
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO event (exercise, kind, at) VALUES (?, ?, ?)", (exercise, kind, when)
            )
            if kind is Event.RESET:
                connection.execute("DELETE FROM hint WHERE exercise = ?", (exercise,))

    def events(self) -> list[tuple[str, Event, datetime]]:
        """What was done to which exercise and when, the oldest first."""
        rows = self._read("SELECT exercise, kind, at FROM event ORDER BY id")
        with self._expecting_ours():
            return [(name, Event(kind), _moment(at)) for name, kind, at in rows]

    def rename(self, names: Mapping[str, str]) -> None:
        """Keep what is known of exercises under their new names, by their old ones."""
        rows = self._read("SELECT exercise FROM grading UNION SELECT exercise FROM hint")
        known = {row[0] for row in rows}
        if known.isdisjoint(names):
            return
        with self._writing() as connection:
            for old, new in names.items():
                for table in ("grading", "event"):
                    connection.execute(
                        f"UPDATE {table} SET exercise = ? WHERE exercise = ?", (new, old)
                    )
                connection.execute(
                    "UPDATE OR REPLACE hint SET exercise = ? WHERE exercise = ?", (new, old)
                )

    def solved(self) -> set[str]:
        """The exercises that the learner's own file has solved at some time."""
        query = "SELECT DISTINCT exercise FROM grading WHERE solved AND own"
        return {str(row[0]) for row in self._read(query)}

    def record(self, report: Report, source: str, own: bool) -> None:
        """Add a grading; ``own`` says whether it was of the learner's own file."""
        checks = {check.name: str(check.verdict) for check in report.checks}
        self._write(
            "INSERT INTO grading VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(report.exercise, own, report.started, report.seconds, str(report.seed)),
                *(report.earned, report.possible, report.solved, self.hints(report.exercise)),
                msgspec.json.encode(checks).decode(),
                msgspec.json.encode(report.diagnosis).decode(),
                source,
            ),
        )

    def record_once(self, report: Report, source: str) -> bool:
        """Add a grading of the learner's own file, unless it is the last one again.

        Returns:
            Whether it was added.
        """
        if self.last_source(report.exercise) == source:
            return False
        self.record(report, source, own=True)
        return True

    def gradings(self, exercise: str | None = None) -> list[Grading]:
        """The gradings of the learner's own files, the oldest first; of one exercise or of all."""
        columns = Grading.__struct_fields__
        rows = self._read(
            f"SELECT {', '.join(columns)} FROM grading "
            "WHERE own AND exercise = coalesce(?, exercise) ORDER BY id",
            (exercise,),
        )
        found = []
        for row in rows:
            values = dict(zip(columns, row, strict=True))
            with self._expecting_ours():
                for name in ("checks", "diagnosis"):
                    values[name] = msgspec.json.decode(values[name])
                _moment(values["started"])
                found.append(msgspec.convert(values, Grading, strict=False))
        return found

    def last_lost(self, exercise: str) -> tuple[int, list[str]] | None:
        """The seed of the last grading of the learner's own file, and the checks that it lost.

        Returns:
            None where nothing was graded.
        """
        row = self._last(exercise, "seed", "checks")
        if row is None:
            return None
        seed, checks = row
        with self._expecting_ours():
            verdicts = msgspec.json.decode(checks, type=dict[str, str])
            return int(seed), [name for name, one in verdicts.items() if one in LOST]

    def last_source(self, exercise: str) -> str | None:
        """What was graded last of the learner's own file; None where nothing was."""
        row = self._last(exercise, "source")
        return None if row is None else str(row[0])

    def _last(self, exercise: str, *columns: str) -> tuple[Any, ...] | None:
        """Of the last grading of the learner's own file; None where nothing was graded."""
        query = (
            f"SELECT {', '.join(columns)} FROM grading "
            "WHERE own AND exercise = ? ORDER BY id DESC LIMIT 1"
        )
        return next(iter(self._read(query, (exercise,))), None)

    def _read(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise trouble(self._path, error) from None

    def _write(self, query: str, values: tuple[object, ...]) -> None:
        with self._writing() as connection:
            connection.execute(query, values)

    @contextmanager
    def _expecting_ours(self) -> Iterator[None]:
        """What is read is what was written here once, or the file was made by somebody else."""
        try:
            yield
        except (ValueError, TypeError, RecursionError) as error:
            raise GradeError(
                f"the history `{self._path}` holds what no grading wrote ({error}); move it away"
            ) from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction."""
        try:
            with self._connection:
                yield self._connection
        except sqlite3.DatabaseError as error:
            raise trouble(self._path, error) from None


def _moment(text: str) -> datetime:
    """A time that others can be compared with, and days be added to."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None or not 2000 < found.year < 3000:
        raise ValueError(f"`{text}` is no time that is known")
    return found


def history_file(kit: Kit) -> Path:
    """Where the history of a learner's folder is; for a kit inside a package, the user's own."""
    home = kit.home / ".grade" if kit.own_stubs else Path(click.get_app_dir("attention-drills"))
    return home / "history.sqlite"


def open_history(kit: Kit, to_write: bool = True) -> History:
    """The history of a learner's folder; for a kit inside a package, one of the user's own.

    Args:
        kit: Whose folder it is.
        to_write: Whether a file is made where there is none yet.

    Raises:
        GradeError: It cannot be read or written, or is from a newer version.
    """
    path = history_file(kit)
    history = History(path if to_write or path.exists() else None)
    history.rename(kit.renamed)
    return history
