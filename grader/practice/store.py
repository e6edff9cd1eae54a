"""The SQLite file behind the history: its schema and versions, and how damage is handled."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.errors import GradeError
from grader.outputs.sanitise import clean
from grader.records.beside import (
    bounded_opening,
    companion_files,
    expect_schema,
    touches_other_files,
)
from grader.submission import MAX_SOURCE_BYTES

LOCK_TIMEOUT_S = 30.0  # while another process writes
MAX_FILE_BYTES = 256 << 20  # with what SQLite keeps beside it: some 50,000 gradings
MAX_ROW_BYTES = 8 * MAX_SOURCE_BYTES
INITIAL_SCHEMA = """
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
ADD_EVENT_TABLE = """
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    exercise TEXT NOT NULL,
    kind TEXT NOT NULL,
    at TEXT NOT NULL           -- ISO 8601, UTC
);
"""
# The scripts from each version of the schema to the next. Never reword them: the schema of every
# file is compared with theirs, word for word.
MIGRATIONS = (INITIAL_SCHEMA, ADD_EVENT_TABLE)
SCHEMA_VERSION = len(MIGRATIONS)


def open_database(path: Path | None) -> sqlite3.Connection:
    """Open the database in a file, which is created if it is missing.

    A file that is damaged, a link, or of a foreign schema is set aside and replaced by a new one:
    the folder may come from a stranger.

    Args:
        path: The file; None for a database in memory alone.

    Raises:
        GradeError: The file cannot be read or written, is too large or from a newer version, or
            lies in a folder that is a link.
    """
    if path is None:
        return _opened(":memory:")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.is_symlink():
            raise GradeError(f"`{path.parent}` is a link: make it a folder, to keep a history in")
        return _opened(path)
    except (OSError, sqlite3.OperationalError) as error:
        raise database_error(path, error) from None
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # the latter for names not in UTF-8
        _set_aside(path)
        return _opened(path)


def database_error(path: Path | None, error: Exception) -> GradeError:
    """Return the error that tells a person why a database cannot be used, with advice."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    advice = {
        "database is locked": "another process keeps it: end that one",
        "database or disk is full": "make room on the disk",
        "interrupted": "it takes too long to read, so move it away",
    }.get(str(reason), "see that the folder may be written to")
    return GradeError(f"the history `{path}` cannot be used: {reason}; {advice}")


def _opened(path: Path | str) -> sqlite3.Connection:
    if isinstance(path, Path) and (path.is_symlink() or touches_other_files(path)):
        raise sqlite3.DatabaseError("it is a link, or would change another file")
    if isinstance(path, Path) and sum(map(_size, (path, *companion_files(path)))) > MAX_FILE_BYTES:
        raise GradeError(
            f"the history `{path}` is larger than {MAX_FILE_BYTES >> 20} MiB: move it away"
        )
    connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
    try:
        with bounded_opening(connection):
            _take_over(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _take_over(connection: sqlite3.Connection, path: Path | str) -> None:
    """Bring a database to this version, and check that it is sound and laid out as ours."""
    connection.execute("PRAGMA trusted_schema = OFF")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise GradeError(
            f"the history `{path}` is from a newer version of `attention-drills`: update it"
        )
    if version < SCHEMA_VERSION:
        _migrate(connection)
    (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if sound != "ok":
        raise sqlite3.DatabaseError(sound)
    expect_schema(connection, _migrate)


def _size(path: Path) -> int:
    """Return the size of a file, in bytes; 0 where it is gone, or none yet."""
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def _migrate(connection: sqlite3.Connection) -> None:
    """Migrate the schema from any earlier version to this one, unless another process just did."""
    connection.execute("BEGIN IMMEDIATE")
    with connection, closing(connection.cursor()) as cursor:
        version = cursor.execute("PRAGMA user_version").fetchone()[0]
        for script in MIGRATIONS[version:]:
            for statement in script.split(";"):
                cursor.execute(statement)
        cursor.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _set_aside(path: Path) -> None:
    """Rename a file that is damaged or foreign, with SQLite's files beside it, and say so."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for one in [path, *companion_files(path)]:
        if one.is_symlink() or one.exists():
            one.replace(aside.with_name(aside.name + one.name.removeprefix(path.name)))
    said = f"`{path}` was damaged, or none of ours: set aside as `{aside.name}`, a new one begins"
    click.echo(clean(said), err=True)
