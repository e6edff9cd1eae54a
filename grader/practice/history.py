"""What a learner has done: every grading and every hint, in an SQLite file of the folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import click
import msgspec

from grader.errors import GradeError
from grader.kit import Kit
from grader.report import Report

VERSION = 1
WAIT = 30.0  # for another process that writes, in seconds
SCHEMA = """
CREATE TABLE grading (
    id INTEGER PRIMARY KEY,
    exercise TEXT NOT NULL,
    own INTEGER NOT NULL,      -- whether it was the learner's own file, not one by path
    started TEXT NOT NULL,     -- ISO 8601, UTC
    seconds REAL NOT NULL,
    seed TEXT NOT NULL,        -- up to 63 bits and more
    earned INTEGER NOT NULL,
    possible INTEGER NOT NULL,
    solved INTEGER NOT NULL,
    hints INTEGER NOT NULL,    -- shown before
    checks TEXT NOT NULL,      -- JSON: verdict by name
    diagnosis TEXT NOT NULL,   -- JSON: sets of mistakes
    source TEXT NOT NULL
);
CREATE INDEX grading_of ON grading (exercise, id);
CREATE TABLE hint (exercise TEXT PRIMARY KEY, shown INTEGER NOT NULL);
"""


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
    earned: int
    possible: int
    solved: bool
    hints: int
    checks: dict[str, str]
    diagnosis: list[list[str]]
    source: str


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
        if path is None:
            self._connection = _opened(":memory:")
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _opened(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise self._trouble(error) from None
            _set_aside(path)
            self._connection = _opened(path)
        except OSError as error:
            raise self._trouble(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def hints(self, exercise: str) -> int:
        """How many hints of an exercise were shown."""
        rows = self._connection.execute("SELECT shown FROM hint WHERE exercise = ?", (exercise,))
        row = rows.fetchone()
        return int(row[0]) if row else 0

    def show_hints(self, exercise: str, count: int) -> None:
        """Note that so many hints of an exercise were shown by now."""
        self._write(
            "INSERT INTO hint VALUES (?, ?) ON CONFLICT DO UPDATE SET shown = excluded.shown",
            (exercise, count),
        )

    def solved(self) -> set[str]:
        """The exercises that the learner's own file has solved at some time."""
        query = "SELECT DISTINCT exercise FROM grading WHERE solved AND own"
        return {str(row[0]) for row in self._connection.execute(query)}

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

    def gradings(self, exercise: str | None = None) -> list[Grading]:
        """The gradings of the learner's own files, the oldest first; of one exercise or of all."""
        columns = Grading.__struct_fields__
        rows = self._connection.execute(
            f"SELECT {', '.join(columns)} FROM grading "
            "WHERE own AND exercise = coalesce(?, exercise) ORDER BY id",
            (exercise,),
        )
        found = []
        for row in rows:
            values = dict(zip(columns, row, strict=True))
            for name in ("checks", "diagnosis"):
                values[name] = msgspec.json.decode(values[name])
            found.append(msgspec.convert(values, Grading, strict=False))
        return found

    def _write(self, query: str, values: tuple[object, ...]) -> None:
        try:
            with self._connection:
                self._connection.execute(query, values)
        except sqlite3.OperationalError as error:
            raise self._trouble(error) from None

    def _trouble(self, error: Exception) -> GradeError:
        return GradeError(
            f"the history `{self._path}` cannot be used: {error}; see that the folder may be "
            "written to"
        )


def open_history(kit: Kit, to_write: bool = True) -> History:
    """The history of a learner's folder; for a kit inside a package, one of the user's own.

    Args:
        kit: Whose folder it is.
        to_write: Whether a file is made where there is none yet.

    Raises:
        GradeError: It cannot be read or written, or is from a newer version.
    """
    home = kit.home / ".grade" if kit.own_stubs else Path(click.get_app_dir("attention-drills"))
    path = home / "history.sqlite"
    return History(path if to_write or path.exists() else None)


def _opened(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise GradeError(
                f"the history `{path}` is from a newer version of `attention-drills`: update it"
            )
        if version < VERSION:
            _make(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make(connection: sqlite3.Connection) -> None:
    """Make the tables, unless another process has just done so."""
    connection.execute("BEGIN IMMEDIATE")
    with connection, closing(connection.cursor()) as cursor:
        if cursor.execute("PRAGMA user_version").fetchone()[0] < VERSION:
            for statement in SCHEMA.split(";"):
                cursor.execute(statement)
            cursor.execute(f"PRAGMA user_version = {VERSION}")


def _set_aside(path: Path) -> None:
    """Keep a damaged file under another name, and say so."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    path.replace(aside)
    click.echo(f"`{path}` was damaged: set aside as `{aside.name}`, history starts anew", err=True)
