"""The history keeps every grading, whoever else writes, and says what is wrong with its file."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from grader.errors import GradeError
from grader.kit.stubs import digest
from grader.practice import store
from grader.practice.history import Event, History
from grader.practice.store import MIGRATIONS, SCHEMA_VERSION
from grader.records import CheckResult, Report, Verdict, beside

WRITER = """
import sys
from pathlib import Path
from grader.practice.history import Event, History
sys.path.insert(0, {folder!r})
from test_history import report
number = 0
while {condition}:
    with History(Path({path!r})) as history:
        history.record(report(number), "source " * 1000, own=True)
    number += 1
    print(number, flush=True)
"""


def report(earned: int = 1) -> Report:
    checks = (
        CheckResult("test_first", Verdict.PASS, earned),
        CheckResult("test_second", Verdict.FAIL, 3),
    )
    return Report(
        *("exercise3", "exercise3.py", "0" * 64, checks, 2**62 + 1, "cpu", "full"),
        *("2026-01-02T03:04:05+00:00", 0.25, {}),
        diagnosis=(("never-scaled",), ("mask-ignored",)),
    )


def writer(path: Path, condition: str) -> subprocess.Popen[str]:
    code = WRITER.format(folder=str(Path(__file__).parent), path=str(path), condition=condition)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_grading_comes_back_as_it_was(tmp_path: Path) -> None:
    with History(tmp_path / "deep" / "history.sqlite") as history:
        history.show_hints("exercise3", 2)
        history.record(report(), "import torch\n", own=True)
        history.record(report(), "somebody else's", own=False)
        (found,) = history.gradings("exercise3")
        assert history.gradings("exercise4") == []
        assert history.gradings() == [found]
    assert (found.earned, found.possible, found.solved, found.hints) == (1, 4, False, 2)
    assert (found.written, found.mistakes) == (True, ["never-scaled"])
    assert found.digest == digest(b"import torch\n")


def test_solved_once_is_solved_for_good(tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite") as history:
        whole = Report(
            *("exercise1", "x.py", "", (CheckResult("test_x", Verdict.PASS, 1),), 1, "cpu"),
            *("full", "2026-01-02T03:04:05+00:00", 0.1, {}),
        )
        history.record(whole, "", own=False)
        assert history.solved() == set()
        history.record(whole, "", own=True)
        history.record(report(), "", own=True)
        assert history.solved() == {"exercise1"}


def test_two_hundred_at_once_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    writers = [writer(path, "number < 25") for _ in range(4)]

    def write(number: int) -> None:
        with History(path) as history:
            history.record(report(number), "", own=True)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(100)))
    for process in writers:
        process.communicate(timeout=300)
        assert process.returncode == 0
    with History(path) as history:
        assert len(history.gradings()) == 200


def test_kill_in_the_middle_loses_at_most_the_one_under_way(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with writer(path, "True") as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGKILL)
        told = 1 + len(process.stdout.read().splitlines())
    with History(path) as history:
        found = history.gradings()
    assert told <= len(found) <= told + 1
    assert [grading.earned for grading in found] == list(range(len(found)))


def test_newer_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(GradeError, match="from a newer version"):
        History(path)
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_file_is_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(b"this was a database once, " * 400)
    with History(path) as history:
        history.record(report(), "", own=True)
        assert len(history.gradings()) == 1
    assert "set aside as `history.sqlite.damaged-" in capsys.readouterr().err
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON grading BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (a)",
    ],
)
def test_file_laid_out_as_none_of_ours_is_set_aside(
    tmp_path: Path, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.sqlite"
    with History(path):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    connection.close()
    with History(path) as history:
        history.record(report(), "", own=True)
    assert "none of ours: set aside as `history.sqlite.damaged-" in capsys.readouterr().err


def test_folders_name_steers_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\x1b]0;title\x07b" / "history.sqlite"
    path.parent.mkdir()
    path.write_text("none of ours")
    with History(path):
        assert "/ab/history.sqlite` was damaged" in capsys.readouterr().err


def test_link_leads_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "history.sqlite"
    path.symlink_to(outside / "made.sqlite")
    with History(path) as history:
        history.record(report(), "", own=True)
    assert not path.is_symlink()
    assert "set aside as" in capsys.readouterr().err
    (tmp_path / "linked").symlink_to(outside)
    with pytest.raises(GradeError, match="linked` is a link: make it a folder"):
        History(tmp_path / "linked" / "history.sqlite")
    assert list(outside.iterdir()) == []


def test_what_takes_for_ever_to_open_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        for number in range(40):
            history.record(report(number), "source " * 1000, own=True)
    monkeypatch.setattr(beside, "MAX_OPENING_S", -1.0)
    monkeypatch.setattr(beside, "INSTRUCTIONS_PER_CLOCK_CHECK", 1)
    with pytest.raises(GradeError, match="takes too long to read, so move it away"):
        History(path)
    monkeypatch.setattr(store, "MAX_FILE_BYTES", 1 << 10)
    with pytest.raises(GradeError, match="is larger than 0 MiB: move it away"):
        History(path)


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("grading SET checks", "{"),
        ("grading SET seconds", "long"),
        ("grading SET checks", "[" * 9000),
        ("grading SET exercise", "x" * 101),  # took any amount of memory, as did the next
        ("grading SET diagnosis", json.dumps([["never-scaled"] * 21])),
        ("grading SET diagnosis", f"[{','.join(['[]'] * 9000)}]"),
        ("grading SET earned", -5),  # was a fault of the grader, as were those below
        ("grading SET earned", 10**12),
        ("grading SET earned", 10**6),  # of fewer
        ("grading SET started", "some day"),
        ("grading SET started", "2026-01-01T00:00:00"),
        ("grading SET started", "2026-01-01T00:00:00+14:00"),
        ("grading SET started", "9999-01-01T00:00:00+00:00"),
        ("event SET at", "2026-01-01T00:00:00"),
        ("event SET at", "a" * 10**6),  # was put on the terminal whole
        ("event SET kind", "a" * 10**6),
        ("hint SET shown", "many"),
    ],
)
def test_row_that_no_grading_wrote_is_said(tmp_path: Path, changed: str, value: str | int) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.record(report(), "", own=True)
        history.record_event("exercise3", Event.SAVED)
        history.show_hints("exercise3", 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {changed} = ?", (value,))
    connection.close()
    said = "holds what no grading wrote"
    with History(path) as history, pytest.raises(GradeError, match=said) as raised:
        history.gradings(), history.events(), history.hints("exercise3")
    assert len(str(raised.value)) < 1000


def test_name_behind_a_nul_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.record_event("exercise3", Event.SAVED)
        history.record(report(), "", own=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("event", "grading"):
            connection.execute(f"UPDATE {table} SET exercise = ?", ("a\0" + "a" * 10**6,))
    connection.close()
    with History(path) as history:
        assert (history.events(), history.solved()) == ([], set())


def test_file_whose_names_are_no_text_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path):
        path.write_bytes(path.read_bytes().replace(b"NOT NULL", b"NOT NUL\x98", 1))
    with History(path) as history:
        assert history.gradings() == []


def test_hints_beyond_all_numbers_are_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.show_hints("exercise3", 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE hint SET shown = 9e999")
    connection.close()
    with History(path) as history, pytest.raises(GradeError, match="holds what no grading wrote"):
        history.hints("exercise3")


def test_folder_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GradeError, match="cannot be used"):
        History(tmp_path / "file" / "history.sqlite")


def test_nothing_is_made_by_reading(tmp_path: Path) -> None:
    with History(None) as history:
        assert history.gradings() == []
    assert list(tmp_path.iterdir()) == []


def test_file_of_the_first_version_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in MIGRATIONS[0].split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO hint VALUES ('exercise3', 2)")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with History(path) as history:
        assert history.hints("exercise3") == 2
        history.record_event("exercise3", Event.RESET)
        assert [(name, kind) for name, kind, _ in history.events()] == [("exercise3", Event.RESET)]


def test_file_damaged_further_on_is_set_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        for number in range(40):
            history.record(report(number), "source " * 1000, own=True)
    data = bytearray(path.read_bytes())
    data[4096:] = b"x" * (len(data) - 4096)
    path.write_bytes(data)
    with History(path) as history:
        assert history.gradings() == []
    assert "set aside as" in capsys.readouterr().err


def test_locked_file_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.sqlite"
    with History(path):
        pass
    monkeypatch.setattr("grader.practice.store.LOCK_TIMEOUT_S", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(GradeError, match="database is locked; another process keeps it"):
            History(path).record_event("exercise3", Event.RESET)
    connection.close()
