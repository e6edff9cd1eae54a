"""A learner's history: every grading and every hint, in an SQLite file in the folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import click
import msgspec

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.stubs import digest
from grader.practice.store import database_error, open_database
from grader.records import Grading, Report, Verdict
from grader.records.gradings import MAX_NAME_CHARS

MAX_ROWS = 50_000  # of a table that are read, the last ones; a stranger's file may have any number
MAX_FOUND_CHARS = 20_000  # the verdicts, or the mistakes, of a grading; ours have up to 4,000
IS_NAMED = f"length(CAST(exercise AS BLOB)) <= {4 * MAX_NAME_CHARS}"  # a text ends at a NUL
# Verdicts of checks whose points are lost.
LOST_VERDICTS = {str(one) for one in Verdict if one not in (Verdict.PASS, Verdict.SKIP)}


class Event(StrEnum):
    """What a learner does besides grading."""

    RESET = "reset"  # starts an exercise anew
    REVEALED = "revealed"  # reads our solution
    SAVED = "saved"  # saves a file in an interview


class History:
    """The history of one folder; a context manager.

    Several processes may read and write at once: each change is a transaction of its own.

    Args:
        path: The file, which is created if it is missing; None for a history in memory alone.

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
        """Return how many hints of an exercise were shown."""
        rows = self._read("SELECT shown FROM hint WHERE exercise = ?", (exercise,))
        with self._expecting_ours():
            return max(int(rows[0][0]), 0) if rows else 0

    def show_hints(self, exercise: str, count: int) -> None:
        """Record how many hints of an exercise have been shown."""
        self._write(
            "INSERT INTO hint VALUES (?, ?) ON CONFLICT DO UPDATE SET shown = excluded.shown",
            (exercise, count),
        )

    def next_hint(self, exercise: Exercise) -> list[str]:
        """Record one more hint as shown, and return all hints of the exercise shown so far."""
        count = min(self.hints(exercise.name) + 1, len(exercise.hints))
        self.show_hints(exercise.name, count)
        return list(exercise.hints[:count])

    def record_event(self, exercise: str, kind: Event, at: datetime | None = None) -> None:
        """Record an event of an exercise; a reset also forgets which hints were shown."""
        when = (at or datetime.now(UTC)).isoformat(timespec="milliseconds")
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO event (exercise, kind, at) VALUES (?, ?, ?)", (exercise, kind, when)
            )
            if kind is Event.RESET:
                connection.execute("DELETE FROM hint WHERE exercise = ?", (exercise,))

    def events(self) -> list[tuple[str, Event, datetime]]:
        """Return every event as exercise, kind and time, the oldest first."""
        query = (
            "SELECT exercise, substr(kind, 1, 40), substr(at, 1, 40) FROM event "
            f"WHERE {IS_NAMED} ORDER BY id DESC LIMIT ?"
        )
        rows = self._read(query, (MAX_ROWS,))
        with self._expecting_ours():
            return [(name, Event(kind), _moment(at)) for name, kind, at in reversed(rows)]

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename exercises throughout the history, given their new names by the old ones."""
        old = ", ".join("?" * len(names))
        query = (
            f"SELECT 1 FROM grading WHERE exercise IN ({old}) "
            f"UNION SELECT 1 FROM hint WHERE exercise IN ({old})"
        )
        if not self._read(query, (*names, *names)):
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
        """Return the exercises that the learner's own file has ever solved."""
        query = f"SELECT DISTINCT exercise FROM grading WHERE solved AND own AND {IS_NAMED} LIMIT ?"
        return {str(row[0]) for row in self._read(query, (MAX_ROWS,))}

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
        """Add a grading of the learner's own file, unless the last one had the same source.

        Returns:
            Whether the grading was added.
        """
        if self.last_source(report.exercise) == source:
            return False
        self.record(report, source, own=True)
        return True

    def gradings(self, exercise: str | None = None) -> list[Grading]:
        """Return the gradings of the learner's own file of one exercise or all, oldest first."""
        columns = "exercise, started, seconds, earned, possible, solved, hints"
        query = (
            f"SELECT {columns}, checks, diagnosis, source FROM grading "
            "WHERE own AND exercise = coalesce(?, exercise) ORDER BY id DESC LIMIT ?"
        )
        with self._expecting_ours(), self._reading(query, (exercise, MAX_ROWS)) as rows:
            return [_grading(*row) for row in rows][::-1]

    def last_lost(self, exercise: str) -> tuple[int, list[str]] | None:
        """Return the seed, and the lost checks, of the last grading of the learner's own file."""
        row = self._last(exercise, "seed", "checks")
        if row is None:
            return None
        seed, checks = row
        with self._expecting_ours():
            verdicts = msgspec.json.decode(checks, type=dict[str, str])
            return int(seed), [name for name, one in verdicts.items() if one in LOST_VERDICTS]

    def last_source(self, exercise: str) -> str | None:
        """Return the source of the learner's own file as last graded; None if it never was."""
        row = self._last(exercise, "source")
        return None if row is None else str(row[0])

    def _last(self, exercise: str, *columns: str) -> tuple[Any, ...] | None:
        """Return columns of the last grading of the learner's own file; None if there is none."""
        query = (
            f"SELECT {', '.join(columns)} FROM grading "
            "WHERE own AND exercise = ? ORDER BY id DESC LIMIT 1"
        )
        return next(iter(self._read(query, (exercise,))), None)

    def _read(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._reading(query, values) as rows:
            return rows.fetchall()

    @contextmanager
    def _reading(self, query: str, values: tuple[object, ...]) -> Iterator[sqlite3.Cursor]:
        """Yield the rows of a query, and turn database errors into GradeError."""
        try:
            yield self._connection.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise database_error(self._path, error) from None

    def _write(self, query: str, values: tuple[object, ...]) -> None:
        with self._writing() as connection:
            connection.execute(query, values)

    @contextmanager
    def _expecting_ours(self) -> Iterator[None]:
        """Raise GradeError if stored values do not decode: somebody else made the file."""
        try:
            yield
        except (ValueError, TypeError, OverflowError, RecursionError) as caught:
            error = str(caught)[:MAX_NAME_CHARS]
            raise GradeError(
                f"the history `{self._path}` holds what no grading wrote ({error}); move it away"
            ) from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction, and turn database errors into GradeError."""
        try:
            with self._connection:
                yield self._connection
        except sqlite3.DatabaseError as error:
            raise database_error(self._path, error) from None


def _grading(*row: Any) -> Grading:
    """Return a grading; of long texts only what is needed of them."""
    *said, checks, diagnosis, source = row
    if max(len(checks), len(diagnosis)) > MAX_FOUND_CHARS:
        raise ValueError("more checks or mistakes than there are")
    _moment(row[1])
    verdicts = msgspec.json.decode(checks, type=dict[str, str]).values()
    mistakes = msgspec.json.decode(diagnosis, type=list[list[str]])
    written = any(verdict != Verdict.TODO for verdict in verdicts)
    values = (*said, written, mistakes[0] if mistakes else [], digest(source.encode()))
    named = dict(zip(Grading.__struct_fields__, values, strict=True))
    return msgspec.convert(named, Grading, strict=False)


def _moment(text: str) -> datetime:
    """Parse a time for comparison and arithmetic: it is in UTC, in a year from 2001 to 2999."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is not UTC or not 2000 < found.year < 3000:
        raise ValueError(f"`{text}` is no time that is known")
    return found


def history_file(kit: Kit) -> Path:
    """Return the path of a learner's folder's history; of the user's own for an installed kit."""
    home = kit.home / ".grade" if kit.own_stubs else Path(click.get_app_dir("attention-drills"))
    return home / "history.sqlite"


def open_history(kit: Kit, to_write: bool = True) -> History:
    """Open the history of a learner's folder, or the user's own for an installed kit.

    Args:
        kit: The kit of the folder.
        to_write: Whether to create the file if there is none yet.

    Raises:
        GradeError: The history cannot be read or written, or is from a newer version.
    """
    path = history_file(kit)
    history = History(path if to_write or path.exists() else None)
    history.rename(kit.renamed)
    return history
