"""The SQLite file behind the history: its schema, its versions, and what is done with damage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.errors import GradeError

WAIT = 30.0  # for another process that writes, in seconds
FIRST = """
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
EVENTS = """
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    exercise TEXT NOT NULL,
    kind TEXT NOT NULL,
    at TEXT NOT NULL           -- ISO 8601, UTC
);
"""
STEPS = (FIRST, EVENTS)  # from each version of the schema to the next
VERSION = len(STEPS)


def open_database(path: Path | None) -> sqlite3.Connection:
    """The database in a file, which is made where it is missing and set aside where damaged.

    Args:
        path: Of the file; None for one that nobody keeps.

    Raises:
        GradeError: It cannot be read or written, or is from a newer version.
    """
    if path is None:
        return _opened(":memory:")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _opened(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise trouble(path, error) from None
        _set_aside(path)
        return _opened(path)
    except OSError as error:
        raise trouble(path, error) from None


def trouble(path: Path | None, error: Exception) -> GradeError:
    """Why a database cannot be used, for a person."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    advice = {
        "database is locked": "another process keeps it: end that one",
        "database or disk is full": "make room on the disk",
    }.get(str(reason), "see that the folder may be written to")
    return GradeError(f"the history `{path}` cannot be used: {reason}; {advice}")


def _opened(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise GradeError(
                f"the history `{path}` is from a newer version of `attention-drills`: update it"
            )
        if version < VERSION:
            _update(connection)
        (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
    except BaseException:
        connection.close()
        raise
    return connection


def _update(connection: sqlite3.Connection) -> None:
    """Take the schema from whatever version it has to this one, unless another process just did."""
    connection.execute("BEGIN IMMEDIATE")
    with connection, closing(connection.cursor()) as cursor:
        version = cursor.execute("PRAGMA user_version").fetchone()[0]
        for script in STEPS[version:]:
            for statement in script.split(";"):
                cursor.execute(statement)
        cursor.execute(f"PRAGMA user_version = {VERSION}")


def _set_aside(path: Path) -> None:
    """Keep a damaged file under another name, and say so."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    path.replace(aside)
    click.echo(f"`{path}` was damaged: set aside as `{aside.name}`, history starts anew", err=True)
