"""How the database of a batch is laid out."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from grader.errors import GradeError
from grader.records.beside import expect_schema

SCHEMA_VERSION = 2  # the schema of every file is compared with this one, word for word
SCHEMA = """
CREATE TABLE plan (one INTEGER PRIMARY KEY CHECK (one = 1), plan TEXT NOT NULL);
CREATE TABLE result (
    id INTEGER PRIMARY KEY,
    candidate TEXT NOT NULL,
    exercise TEXT NOT NULL,
    seed TEXT NOT NULL,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,      -- of the source
    earned INTEGER NOT NULL,
    possible INTEGER NOT NULL,
    report TEXT NOT NULL,      -- JSON
    source TEXT NOT NULL,
    note TEXT NOT NULL,
    unread INTEGER NOT NULL,
    UNIQUE (candidate, exercise, seed)
);
CREATE TABLE candidate (key TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


def make_or_check(connection: sqlite3.Connection, path: Path) -> None:
    """Lay out a new database, or check that an old one is laid out as a batch's store.

    Raises:
        GradeError: It is from another version.
        sqlite3.DatabaseError: It is laid out otherwise.
    """
    connection.execute("BEGIN IMMEDIATE")
    with connection, closing(connection.cursor()) as cursor:
        version = cursor.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise GradeError(f"`{path}` is from a newer version of `attention-drills`: update it")
        if 0 < version < SCHEMA_VERSION:
            raise GradeError(
                f"`{path}` is from an older version of `attention-drills`: go on with "
                "that, or choose another folder with --out"
            )
        if version < SCHEMA_VERSION:
            for statement in SCHEMA.split(";"):
                cursor.execute(statement)
            cursor.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    expect_own_schema(connection)


def expect_own_schema(connection: sqlite3.Connection) -> None:
    """Check that a database is laid out as a batch's store.

    Raises:
        sqlite3.DatabaseError: It is not.
    """
    expect_schema(connection, _lay_out)


def _lay_out(connection: sqlite3.Connection) -> None:
    connection.executescript(SCHEMA)
