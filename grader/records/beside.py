"""Find what acts when a SQLite database from a stranger is opened: files beside it, its schema.

SQLite rolls a journal back before the database can be queried. If the journal names a journal of
several databases ("super-journal"), SQLite then deletes that file, wherever it is. Our databases
never have one; the journal that they leave after a power cut is rolled back as usual.

Source: https://sqlite.org/fileformat.html, sections 3 and 4; `readSuperJournal` in its `pager.c`
"""

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

SUPER_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names another file
MAX_SQLITE_BYTES = 128 << 20  # of this process; SQLite reads any schema, into 25 times its size
MAX_OPENING_S = 10.0  # of processor time, however the file was made
INSTRUCTIONS_PER_CLOCK_CHECK = 100_000  # of SQLite's virtual machine
COMPANION_ENDINGS = ("-journal", "-wal", "-shm")


def companion_files(database: Path) -> Iterator[Path]:
    """Yield the existing files that SQLite would open together with a database."""
    for ending in COMPANION_ENDINGS:
        path = database.with_name(database.name + ending)
        if path.is_symlink() or path.exists():
            yield path


@contextmanager
def bounded_opening(connection: sqlite3.Connection) -> Iterator[None]:
    """Bound what SQLite takes while a database is opened in the context: memory, processor time.

    Raises:
        sqlite3.DatabaseError: It takes more.
    """
    end = time.process_time() + MAX_OPENING_S
    connection.execute(f"PRAGMA hard_heap_limit = {MAX_SQLITE_BYTES}")
    connection.set_progress_handler(lambda: time.process_time() > end, INSTRUCTIONS_PER_CLOCK_CHECK)
    try:
        yield
    except MemoryError:
        raise sqlite3.DatabaseError("it takes too much memory") from None
    finally:
        connection.set_progress_handler(None, 0)


def expect_schema(
    connection: sqlite3.Connection, lay_out: Callable[[sqlite3.Connection], object]
) -> None:
    """Check that a database has the schema of ours, and no view or trigger that may take any time.

    Args:
        connection: The database.
        lay_out: Makes our schema in an empty database.

    Raises:
        sqlite3.DatabaseError: It has another one.
    """
    if _schema_of(connection) != _schema_made_by(lay_out):
        raise sqlite3.DatabaseError("it is laid out as none of ours")


@cache
def _schema_made_by(lay_out: Callable[[sqlite3.Connection], object]) -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        lay_out(fresh)
        return _schema_of(fresh)


def _schema_of(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Return a database's whole schema with its SQL, in which a foreign view or trigger shows."""
    return {*connection.execute("SELECT type, name, sql FROM sqlite_master")}


def touches_other_files(database: Path) -> bool:
    """Return whether opening a database would touch a file that lies somewhere else."""
    return any(_leads_elsewhere(path) for path in companion_files(database))


def _leads_elsewhere(path: Path) -> bool:
    """Return whether a file is no plain journal; one that is gone by now leads nowhere."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return True
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - len(SUPER_JOURNAL_MAGIC), 0))
            return file.read() == SUPER_JOURNAL_MAGIC
    except FileNotFoundError:  # a process that writes ended its transaction meanwhile
        return False
