"""What lies beside a database and would act when it is opened, in a folder that a stranger made.

SQLite rolls a journal back before anything can be asked of the database. Where the journal names a
journal of several databases ("super-journal"), SQLite then deletes that file, wherever it is.
Databases of ours never have one; what they leave behind after a power cut is rolled back as ever.

Source: https://sqlite.org/fileformat.html, sections 3 and 4; `readSuperJournal` in its `pager.c`
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MAGIC = bytes.fromhex("d9d505f920a163d7")  # at the end of a journal that names another file
ENDINGS = ("-journal", "-wal", "-shm")


def beside(database: Path) -> Iterator[Path]:
    """The files that SQLite would open with a database, as far as they are there."""
    for ending in ENDINGS:
        path = database.with_name(database.name + ending)
        if path.is_symlink() or path.exists():
            yield path


def acts_elsewhere(database: Path) -> bool:
    """Whether opening a database would touch a file that lies somewhere else."""
    return any(_leads_elsewhere(path) for path in beside(database))


def _leads_elsewhere(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return True
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - len(MAGIC), 0))
        return file.read() == MAGIC
