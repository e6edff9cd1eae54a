"""What a team says of candidates: noted, shown, kept; points by hand with their reason."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from grader.cli import run_command
from grader.errors import GradeError
from grader.hiring.remarks import REMARKS_FILE, Remarks
from grader.hiring.store import BatchStore
from tests.support.paths import TINY_KIT

RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return x\n"


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The words of a batch that has run once: Ada's is right, Bob's wrong."""
    folder = tmp_path_factory.mktemp("batch")
    for name, source in (("ada", RIGHT), ("bob", WRONG)):
        (folder / "handed" / name).mkdir(parents=True)
        (folder / "handed" / name / "double.py").write_text(source)
    words = ["batch", str(folder / "handed"), "--kit", str(TINY_KIT), "--exercise", "double"]
    words += ["--jobs", "1", "--out", str(folder / "results")]
    assert run_command(words) == 0
    return words


def out_of(batch: list[str]) -> list[str]:
    return batch[-2:]


def row_of(batch: list[str], name: str) -> dict[str, str]:
    """Their line in the gradebook, which the same command has written anew."""
    assert run_command(batch) == 0
    with (Path(batch[-1]) / "gradebook.csv").open(newline="") as file:
        return next(row for row in csv.DictReader(file) if row["candidate"] == name)


@pytest.mark.slow("a batch that goes on")
def test_note_and_decision_are_shown_and_outlive_regrading(
    batch: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["batch", "note", "ada", "asks why", *out_of(batch)]) == 0
    assert run_command(["batch", "note", "ada", "--decision", "yes", *out_of(batch)]) == 0
    said = capsys.readouterr().out
    assert "noted of `ada`" in said
    assert "`grade batch " in said
    assert run_command([*batch, "--regrade", "--only", "ada"]) == 0
    row = row_of(batch, "ada")
    assert row["decision"] == "yes"
    first, second = row["remarks"].splitlines()
    assert first.endswith(": asks why")
    assert second.endswith(": decision: yes")
    page = (Path(batch[-1]) / "report.html").read_text(encoding="utf-8")
    assert "asks why" in page
    assert '<b class="decision">yes</b>' in page


@pytest.mark.slow("a batch that goes on")
def test_points_by_hand_count_with_their_reason_and_can_be_taken_back(
    batch: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = row_of(batch, "bob")
    most = int(before["double possible"])
    Remarks(Path(batch[-1])).add("bob", exercise="double", points=most + 9)  # as by hand
    assert row_of(batch, "bob")["total percent"] == "100.00"
    words = ["batch", "override", "bob", "double", str(most), "--why", "our fault"]
    assert run_command([*words, *out_of(batch)]) == 0
    row = row_of(batch, "bob")
    assert (row["double earned"], row["total percent"]) == (str(most), "100.00")
    assert row["double note"].endswith(f"double set to {most}: our fault; 0 by the checks")
    capsys.readouterr()
    explain = ["batch", "explain", "bob", "--kit", str(TINY_KIT), *out_of(batch)]
    assert run_command(explain) == 0
    told = capsys.readouterr().out
    assert f"double: {most} / {most} = 100.00 %, weight 1, graded" in told
    assert "    -2 three numbers\n    -1 five numbers\n    -1 seven numbers\n" in told
    assert "total: 100.00 %, the mean of the shares by weight" in told
    back = ["batch", "override", "bob", "double", "-", "--why", "it was not"]
    assert run_command([*back, *out_of(batch)]) == 0
    after = row_of(batch, "bob")
    assert after["double earned"] == before["double earned"]
    assert len(after["remarks"].splitlines()) == len(before["remarks"].splitlines()) + 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["note", "bbo", "x"], "there is no candidate `bbo`; did you mean `bob`?"),
        (["note", "bob"], "there is nothing to note: give a text, or --decision"),
        (
            ["override", "bob", "triple", "1", "--why", "x"],
            "no graded `triple`; graded is `double`",
        ),
        (["override", "bob", "double", "999", "--why", "x"], "points are 0 to "),
        (["override", "bob", "double", "000001999", "--why", "x"], "points are 0 to "),
    ],
)
def test_what_cannot_be_said_is_one_line(
    batch: list[str], words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["batch", *words, *out_of(batch)]) == 2
    assert says in capsys.readouterr().err.splitlines()[-1]


def test_folder_without_a_batch_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["batch", "note", "ada", "x", "--out", str(tmp_path)]) == 2
    assert "holds no batch" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_folder_named_as_a_command_is_still_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["batch", "./note", "--exercise", "double", "--kit", str(TINY_KIT)]
    assert run_command(words) == 2
    assert "`note` is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line", ['{"at": 1}', '{"at": "", "by": "", "candidate": "ada", "exercise": "e", "points": -1}']
)
def test_damaged_line_is_said(line: str, tmp_path: Path) -> None:
    Remarks(tmp_path).add("ada", text="fine")
    with (tmp_path / REMARKS_FILE).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(GradeError, match="mend the line, or move the file away"):
        Remarks(tmp_path)


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / REMARKS_FILE)
    with pytest.raises(GradeError, match="is not a regular file; move it away"):
        Remarks(tmp_path)


def test_status_says_how_far_it_is_and_grades_nothing(
    batch: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["batch", "status", "--kit", str(TINY_KIT), *out_of(batch)]
    capsys.readouterr()
    assert run_command(words) == 0
    said = capsys.readouterr().out
    assert "2 candidates, 2 of 2 gradings done\n" in said
    assert "  double: 1 solved, 1 graded\n" in said
    assert "not at work; `grade batch " in said
    with BatchStore(Path(batch[-1]) / "results.sqlite") as store, store.locked("grade batch now"):
        assert run_command(words) == 0
    assert "at work: `grade batch now`\n" in capsys.readouterr().out
