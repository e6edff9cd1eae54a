"""A database in a stranger's folder touches no file that lies elsewhere."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from grader.errors import GradeError
from grader.hiring.store import BatchStore
from grader.practice.store import open_database
from grader.records.beside import SUPER_JOURNAL_MAGIC, touches_other_files

SECTOR, PAGE = 512, 4096


def journal_of(database: Path, victim: Path) -> None:
    """A journal without records beside a database, which names a file that SQLite then deletes."""
    pages = database.stat().st_size // PAGE
    head = SUPER_JOURNAL_MAGIC + struct.pack(">IIIII", 0, 0, pages, SECTOR, PAGE)
    name = str(victim).encode()
    end = struct.pack(">I", 1 + (1 << 30) // PAGE) + name
    end += struct.pack(">II", len(name), sum(name)) + SUPER_JOURNAL_MAGIC
    database.with_name(database.name + "-journal").write_bytes(head.ljust(SECTOR, b"\0") + end)


def made(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE a (b)")
    connection.close()
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim.txt"
    path.write_text("precious")
    return path


def test_journal_is_one_by_which_sqlite_deletes(tmp_path: Path, victim: Path) -> None:
    database = made(tmp_path / "a.sqlite")
    journal_of(database, victim)
    with sqlite3.connect(database) as connection:
        connection.execute("SELECT * FROM a")
    connection.close()
    assert not victim.exists()


def test_history_is_set_aside_with_what_lies_beside(
    tmp_path: Path, victim: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = made(tmp_path / "history.sqlite")
    journal_of(database, victim)
    open_database(database).close()
    assert victim.read_text() == "precious"
    assert "set aside" in capsys.readouterr().err
    assert not touches_other_files(database)
    kept = {path.name[-8:] for path in tmp_path.glob("history.sqlite.damaged-*")}
    assert len(kept) == 2
    assert "-journal" in kept


def test_results_are_refused(tmp_path: Path, victim: Path) -> None:
    journal_of(made(tmp_path / "results.sqlite"), victim)
    with pytest.raises(GradeError, match="it would change another file; choose another folder"):
        BatchStore(tmp_path / "results.sqlite")
    assert victim.read_text() == "precious"


def test_schema_that_takes_all_memory_is_refused(tmp_path: Path) -> None:
    path, body = tmp_path / "results.sqlite", " UNION ALL ".join(["SELECT 1"] * 400)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        views = ((f"v{n}", f"CREATE VIEW v{n} AS {body}") for n in range(3000))
        connection.executemany("INSERT INTO sqlite_master VALUES ('view', ?1, ?1, 0, ?2)", views)
    with pytest.raises(GradeError, match="it takes too much memory"):
        BatchStore(path)


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_links_beside_it_lead_elsewhere(tmp_path: Path, victim: Path, ending: str) -> None:
    (tmp_path / f"a.sqlite{ending}").symlink_to(victim)
    assert touches_other_files(tmp_path / "a.sqlite")


def test_what_a_power_cut_leaves_is_rolled_back_as_ever(tmp_path: Path) -> None:
    database = made(tmp_path / "a.sqlite")
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("PRAGMA cache_size = 1")
    connection.executemany("INSERT INTO a VALUES (?)", [("x" * 4000,)] * 100)
    assert (tmp_path / "a.sqlite-journal").exists()
    assert not touches_other_files(database)
    connection.close()


def test_journal_that_ends_meanwhile_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "a.sqlite-journal"
    monkeypatch.setattr("grader.records.beside.companion_files", lambda database: [gone])
    assert not touches_other_files(tmp_path / "a.sqlite")
