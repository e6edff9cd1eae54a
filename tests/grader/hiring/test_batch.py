"""A batch grades everything once, whatever happens to it in between."""

from __future__ import annotations

import codecs
import csv
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from grader.cli import run_command
from grader.errors import GradeError, GraderFault
from grader.hiring.batch_records import BatchSettings
from grader.hiring.beginning import expect_own_folder
from grader.hiring.process_pool import GradingPool, max_wall_s
from grader.hiring.store import BatchStore
from grader.hiring.tasks import PoolSettings, Task, TaskOutcome
from grader.hiring.written import safe_name
from grader.kit import installed_kit, load_kit
from grader.kit.stubs import shipped_stub
from grader.sandbox.clock import MAX_JUDGING_CPU_S, MAX_WALL_S_PER_LIMIT_S
from grader.wire.levels import limits_for
from tests.support.paths import ROOT, TINY_KIT
from tests.support.reading import assert_self_contained, text_of
from tests.support.takehomes import write_record
from tests.support.terminal import COMMAND

KIT = installed_kit()
RIGHT = KIT.find("warmup1").solution.read_text(encoding="utf-8")
SOURCES = {
    "right": RIGHT,
    "wrong": RIGHT.replace("dim=-1)", "dim=-2)"),
    "crash": "import os\nos._exit(3)\n",
    "raise": "def self_attention(x):\n    raise ValueError(x.shape)\n",
    "syntax": "def self_attention(x:\n",
    "empty": "",
}
HANG = "def self_attention(x):\n    while True:\n        pass\n"
SETTINGS = PoolSettings("", "auto", "cpu", 5.0, 1024, 2000)


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    folder = tmp_path / "handed"
    for name, source in SOURCES.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "warmup1.py").write_text(source)
    (folder / "nothing").mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "results"


def command(
    handed: Path, out: Path, *words: str, sent: tuple[str, ...] = ("warmup1",)
) -> list[str]:
    """The words that grade with seed 5 and 5 s a check, as the record beside the results says."""
    record = out.with_name("sent.toml")
    if not record.exists():
        write_record(record, *sent, timeout=5.0)
    return ["batch", str(handed), "--takehome", str(record), "--out", str(out), *words]


def batch(handed: Path, out: Path, *words: str, **more: Any) -> int:
    return run_command(command(handed, out, *words, **more))


def change_record(out: Path, old: str, new: str) -> None:
    record = out.with_name("sent.toml")
    text = record.read_text(encoding="utf-8")
    assert text.count(old) == 1
    record.write_text(text.replace(old, new), encoding="utf-8")


def rows(out: Path) -> dict[str, dict[str, str]]:
    with (out / "gradebook.csv").open(encoding="utf-8", newline="") as file:
        return {row["candidate"]: row for row in csv.DictReader(file)}


def reports(out: Path) -> list[dict[str, Any]]:
    text = (out / "results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def verdicts(out: Path) -> list[tuple[str, list[tuple[str, str, int]]]]:
    """All that a batch found, but for times."""
    found = []
    for record in reports(out):
        checks = [(c["name"], c["verdict"], c["points"]) for c in record["checks"]]
        found.append((record["candidate"], checks))
    return found


@pytest.mark.slow("a batch is several processes that import torch", always=True)
def test_batch_of_all_kinds(handed: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (handed / "hang.py").write_text(HANG)
    write_record(out.with_name("sent.toml"), "warmup1", timeout=2.0)
    forms = ("--also", "junit", "--also", "gradescope", "--also", "exercism")
    assert batch(handed, out, *forms) == 1
    told = capsys.readouterr()
    assert "8 graded; seed 5; 1 with nothing to grade\n" in told.out
    assert "nothing to grade of `nothing`: no file that defines `self_attention`" in told.err
    found = rows(out)
    assert found["right"]["total percent"] == "100.00"
    assert found["right"]["warmup1 status"] == "solved"
    assert 0 < float(found["wrong"]["total percent"]) < 100
    assert found["wrong"]["diagnosis"] == "softmax-over-the-queries"
    for name in ("crash", "syntax", "empty"):
        assert found[name]["warmup1 status"] == "cannot be tried"
    assert found["nothing"]["warmup1 status"] == "missing"
    for name in ("crash", "raise", "syntax", "empty", "hang", "nothing"):
        assert found[name]["total percent"] == "0.00"
        assert found[name]["warmup1 possible"] == found["right"]["warmup1 possible"]
    records = reports(out)
    assert len(records) == 8
    assert {record["seed"] for record in records} == {5}
    hang = next(record for record in records if record["candidate"] == "hang")
    assert "timeout" in {check["verdict"] for check in hang["checks"]}
    for name in (*SOURCES, "hang"):
        scope = json.loads((out / f"gradescope/{name}/results.json").read_text())
        assert f"{scope['score']:.2f}" == found[name]["total percent"]
        exercism = json.loads((out / f"exercism/{name}/warmup1/results.json").read_text())
        assert exercism["status"] == {"right": "pass"}.get(name, exercism["status"])
        assert (out / f"junit/{name}/junit.xml").is_file()


@pytest.mark.slow("a batch is several processes that import torch")
def test_nobody_vanishes_and_what_was_found_elsewhere_is_said(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handed = tmp_path / "handed"
    for name in ("ada", "bob", "cleo"):
        (handed / name).mkdir(parents=True)
    (handed / "ada" / "warmup1 (1).py").write_text(RIGHT)
    (handed / "bob" / "solution.py").write_text(RIGHT)
    (handed / "bob" / "notes.py").write_text("")
    (handed / "cleo" / "warmup1.py").write_bytes(b"\xff\xfe")
    (handed / "dora.rar").write_bytes(b"Rar!")
    (handed / "eve").mkdir()
    (handed / "eve" / "warmup1.py").write_bytes(shipped_stub(KIT.find("warmup1")))
    (handed / "eve" / "mine.py").write_text(RIGHT)
    (handed / "eve" / "old.py").write_text(SOURCES["wrong"])
    assert batch(handed, out) == 1
    told = capsys.readouterr()
    assert "5 graded; seed 5; 2 with nothing to grade\n" in told.out
    assert "nothing to grade of `dora`: `dora.rar` is not a folder" in told.err
    assert "nothing to grade of `cleo`: `warmup1.py` is not UTF-8" in told.err
    found = {name: (row["warmup1 status"], row["warmup1 note"]) for name, row in rows(out).items()}
    assert found["ada"] == ("solved", "found as `warmup1 (1).py`")
    assert found["bob"][1] == "found in `solution.py`, which defines `self_attention`"
    assert found["cleo"][0] == found["dora"][0] == "cannot be read"
    assert "\nwarmup1: 2 solved, 1 graded, 2 cannot be read\n" in told.out
    both = "found in `old.py`, which defines `self_attention`; left aside: `mine.py`"
    assert found["eve"] == ("graded", f"{both}; `warmup1.py` is as it was sent")
    assert f"`eve`, warmup1: {both}" in told.err
    words = (out / "report.html").read_text(encoding="utf-8")
    assert all(f">{status}</span>" in words for status in ("solved", "cannot be read"))
    assert ">graded</span>, files left aside</td>" in words
    assert found["dora"][1] == "`dora.rar` is not a folder, zip, tar, .py or .ipynb"
    assert not (out / "gradebook.csv").read_bytes().startswith(codecs.BOM_UTF8)
    assert batch(handed, out, "--also", "excel") == 1
    gradebook = (out / "gradebook.csv").read_bytes()
    assert (out / "excel.csv").read_bytes() == codecs.BOM_UTF8 + gradebook
    (handed / "dora.rar").unlink()  # sent again as another kind of file
    (handed / "dora").mkdir()
    (handed / "dora" / "warmup1.py").write_text(RIGHT)
    assert batch(handed, out) == 1
    statuses = {name: row["warmup1 status"] for name, row in rows(out).items()}
    assert statuses.keys() == found.keys()
    assert statuses["dora"] == "solved"


@pytest.mark.slow("a batch is several processes that import torch")
def test_copies_are_shown_to_be_looked_at(handed: Path, out: Path) -> None:
    (handed / "copy").mkdir()
    (handed / "copy" / "warmup1.py").write_text(RIGHT + "\n# a colleague helped\n")
    assert batch(handed, out) == 1
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "same code" in page


@pytest.mark.slow("a batch is several processes that import torch")
def test_same_command_goes_on_and_grades_nothing_twice(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch(handed, out, "--only", "right", "--only", "wrong") == 0
    assert "2 graded; seed 5" in capsys.readouterr().out
    before = Path(out / "results.sqlite").read_bytes()
    left = rows(out)["crash"]
    assert left["warmup1 status"] == "not graded"
    assert left["total percent"] == left["warmup1 earned"] == left["warmup1 possible"] == ""
    assert batch(handed, out) == 1
    assert "5 graded, 2 were there before" in capsys.readouterr().out
    assert batch(handed, out) == 1
    assert "0 graded, 7 were there before" in capsys.readouterr().out
    assert before != Path(out / "results.sqlite").read_bytes()
    with closing(sqlite3.connect(out / "results.sqlite")) as connection, connection:
        assert connection.execute("SELECT count(*), max(id) FROM result").fetchone() == (7, 7)
    connection.close()
    assert batch(handed, out, "--only", "wrong", "--regrade") == 0
    assert "1 graded" in capsys.readouterr().out
    assert len(verdicts(out)) == 7


@pytest.mark.slow("a batch is several processes that import torch")
def test_changed_file_is_told_and_not_graded_behind_ones_back(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch(handed, out, "--only", "right", "--only", "wrong") == 0
    (handed / "wrong" / "warmup1.py").write_text(RIGHT)
    capsys.readouterr()
    assert batch(handed, out, "--only", "right", "--only", "wrong") == 0
    err = capsys.readouterr().err
    assert "`wrong`, warmup1: changed since it was graded; `grade batch" in err
    assert "`right`" not in err
    row = rows(out)["wrong"]
    assert float(row["total percent"]) < 100
    assert row["warmup1 note"] in err.replace("grade: ", "")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("</span>, changed since</td>") == 1


@pytest.mark.slow("a batch is several processes that import torch")
def test_what_could_not_be_graded_and_is_sent_again_is_graded(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handed = tmp_path / "handed"
    for name in ("ada", "bob", "cleo"):
        (handed / name).mkdir(parents=True)
        (handed / name / "warmup2.py").write_text(f"# {name}\n")
    (handed / "bob" / "warmup1.py").write_bytes(b"\xff\xfe")
    (handed / "dan.rar").write_bytes(b"Rar!")
    (handed / "eve").mkdir()
    (handed / "fay").mkdir()
    (handed / "fay" / "warmup1.py").write_bytes(codecs.BOM_UTF8)  # empty, and read all the same
    both = ("warmup1", "warmup2")
    assert batch(handed, out, sent=both) == 1
    told = capsys.readouterr()
    assert "; 2 with nothing to grade\n" in told.out
    assert "nothing to grade of `dan`: `dan.rar` is not a folder" in told.err
    assert "nothing to grade of `eve`: no file that defines `self_attention`; it is emp" in told.err
    assert told.err.count("nothing to grade of") == 2  # others have a score for something
    assert "`bob`, warmup1 could not be read: `warmup1.py` is not UTF-8" in told.err
    assert rows(out)["fay"]["warmup1 status"] == "cannot be tried"
    for name in ("ada", "bob", "eve"):
        (handed / name / "warmup1.py").write_text(RIGHT)
    assert batch(handed, out) == 1
    told = capsys.readouterr()
    assert "`ada`, warmup1: there was nothing to grade, and is now" in told.err
    assert "3 graded, 9 were there before; seed 5; 1 with nothing to grade\n" in told.out
    found = rows(out)
    assert {found[name]["warmup1 status"] for name in ("ada", "bob", "eve")} == {"solved"}


@pytest.mark.slow("a batch is several processes that import torch")
def test_batch_goes_on_only_as_it_was_begun(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch(handed, out, "--only", "right") == 0
    record = out.with_name("sent.toml")
    for fields, words, field in (
        ({"seeds": 2}, [], "`seeds`: (5,)"),
        ({"seed": 6}, [], "`takehome`; "),
        ({"timeout": 9.0}, [], "`timeout`: 5.0"),
        ({"memory": 1024}, [], "`memory`: 2048"),
        ({}, ["--isolation", "process"], "`isolation`: "),
    ):
        write_record(record, "warmup1", **{"timeout": 5.0, **fields})
        assert batch(handed, out, *words) == 2
        err = capsys.readouterr().err
        assert f"was begun with another {field}" in err
        assert "--out" in err
    write_record(record, "warmup1", timeout=5.0, feedback="score")  # which grades nothing anew
    assert batch(handed, out, "--only", "right") == 0
    assert "0 graded, 1 were there before" in capsys.readouterr().out


def test_folder_that_somebody_handed_in_takes_no_results(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store in it would say what everybody earned."""
    with BatchStore(out / "results.sqlite"):
        pass
    shutil.copytree(out, handed / "of_a_batch")
    (handed / "empty_file").mkdir()
    (handed / "empty_file" / "results.sqlite").touch()
    (handed / "link").symlink_to(out)
    for name in ("right", "of_a_batch", "empty_file", "link"):
        assert batch(handed, handed / name) == 2
        err = capsys.readouterr().err
        assert f"{name}` lies in `{handed}`, and no batch was begun in it" in err
        assert len(err.strip().splitlines()) == 1


def test_folder_within_the_submissions_may_be_begun_and_gone_on_with(handed: Path) -> None:
    (handed / "bare").mkdir()
    for out in (handed / "bare", handed / "new"):
        expect_own_folder(out, handed)
        with BatchStore(out / "results.sqlite") as store:
            store.keep("command", "grade batch")
        expect_own_folder(out, handed)


@pytest.mark.slow("a batch is several processes that import torch")
def test_second_batch_in_a_folder_is_refused(
    handed: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch(handed, out, "--only", "right") == 0
    other = tmp_path / "other"
    shutil.copytree(handed, other)
    assert batch(other, out) == 2
    assert f"was begun with another `submissions`: {handed}; go on" in capsys.readouterr().err
    with BatchStore(out / "results.sqlite") as store, store.locked("grade batch 'a b'"):
        assert batch(handed, out) == 2
    assert "another batch is at work in" in (err := capsys.readouterr().err)
    assert "`grade batch 'a b'`" in err
    handed.rename(tmp_path / "moved")
    assert batch(tmp_path / "moved", out, "--only", "right") == 0


@pytest.mark.slow("a batch is several processes that import torch")
def test_printed_commands_can_be_pasted(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (handed / "right").rename(handed / "O'Neill, Ada")
    assert batch(handed, out, "--only", "O'Neill, Ada") == 0
    (handed / "O'Neill, Ada" / "warmup1.py").write_text(SOURCES["wrong"])
    assert batch(handed, out, "--only", "O'Neill, Ada") == 0
    said = re.search("changed since it was graded; `(.*)` grades it anew", capsys.readouterr().err)
    assert said is not None
    words = ["grade", *command(handed, out), "--only", "O'Neill, Ada", "--regrade"]
    assert shlex.split(said[1]) == words
    assert run_command(shlex.split(said[1])[1:]) == 0
    assert "changed since" not in (out / "gradebook.csv").read_text(encoding="utf-8")


@pytest.mark.slow("a batch is several processes that import torch")
def test_file_that_nobody_changed_is_told(tmp_path: Path) -> None:
    handed, out = tmp_path / "handed", tmp_path / "out"
    for name, end in (("idle", b""), ("windows", b""), ("busy", b"\n# tried\n")):
        (handed / name).mkdir(parents=True)
        for exercise in ("warmup1", "bug4"):
            source = shipped_stub(KIT.find(exercise)) + end
            ends = b"\r\n" if name == "windows" else b"\n"
            (handed / name / f"{exercise}.py").write_bytes(source.replace(b"\n", ends))
    words = ["--exercise", "warmup1", "--exercise", "bug4", "--out", str(out)]
    assert run_command(["batch", str(handed), *words]) == 0
    found = {name: (row["warmup1 status"], row["bug4 status"]) for name, row in rows(out).items()}
    assert found["idle"] == found["windows"] == ("as sent", "as sent")
    assert found["busy"] == ("graded", "graded")


@pytest.mark.slow("a batch is several processes that import torch")
def test_weights_may_be_changed_once_all_is_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handed, out, record = (tmp_path / name for name in ("handed", "out", "sent.toml"))
    (handed / "ada").mkdir(parents=True)
    (handed / "ada" / "warmup1.py").write_text(RIGHT)
    pack = ["pack", "warmup1", "warmup2", "--title", "t", "--minutes", "9"]
    assert run_command([*pack, "--out", str(record.with_suffix(".zip"))]) == 0
    grade = ["batch", str(handed), "--takehome", str(record), "--out", str(out)]
    assert run_command(grade) == 0
    assert rows(out)["ada"]["total percent"] == "50.00"
    text = record.read_text(encoding="utf-8")
    record.write_text(text.replace("weight = 1.0", "weight = 3.0", 1), encoding="utf-8")
    capsys.readouterr()
    assert run_command([*grade, "--also", "gradescope"]) == 0
    assert "0 graded, 2 were there before" in capsys.readouterr().out
    assert rows(out)["ada"]["total percent"] == "75.00"
    scope = json.loads((out / "gradescope/ada/results.json").read_text(encoding="utf-8"))
    assert scope["score"] == 75
    record.write_text(text.replace('title = "t"', 'title = "u"'), encoding="utf-8")
    assert run_command(grade) == 2
    assert "was begun with another `takehome`" in capsys.readouterr().err


@pytest.mark.slow("a batch is several processes that import torch")
def test_batch_does_not_go_on_with_another_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kit, handed, out = (tmp_path / name for name in ("kit", "handed", "out"))
    shutil.copytree(TINY_KIT, kit)
    handed.mkdir()
    shutil.copy(load_kit(kit).find("double").solution, handed / "ada.py")
    grade = ["batch", str(handed), "--kit", str(kit), "--exercise", "double", "--out", str(out)]
    assert run_command(grade) == 0
    suite = load_kit(kit).find("double").suite
    suite.write_text(suite.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    capsys.readouterr()
    assert run_command(grade) == 2
    assert "was begun with another `kit`" in capsys.readouterr().err


@pytest.mark.slow("a batch is several processes that import torch")
def test_who_is_gone_is_withdrawn_and_nobody_is_graded_anew_for_a_name(
    handed: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (handed / "copy").mkdir()
    (handed / "copy" / "warmup1.py").write_text(RIGHT + "\n# a colleague helped\n")
    forms = ("--also", "gradescope", "--also", "exercism")
    batch(handed, out, *forms)
    assert (out / "gradescope/copy").is_dir()
    shutil.rmtree(handed / "copy")
    (out / "gradescope/copy/mine.txt").write_text("somebody else's")
    names = tmp_path / "names.csv"
    names.write_text("file,name\nright,Ada\n", encoding="utf-8")
    capsys.readouterr()
    batch(handed, out, "--names", str(names))
    assert "0 graded, 7 were there before" in capsys.readouterr().out
    found = rows(out)
    assert found["Ada"]["total percent"] == "100.00"
    assert "right" not in found
    assert found["copy"]["warmup1 status"] == "withdrawn"
    assert (found["copy"]["total percent"], found["copy"]["warmup1 earned"]) == ("", "")
    assert not list(out.glob("*.draft"))
    assert {path.name for path in (out / "exercism").iterdir()} == {
        *(safe_name(name) for name in found if name != "copy")
    }
    assert [path.name for path in (out / "gradescope/copy").iterdir()] == ["mine.txt"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "withdrawn" in page
    assert 'evidence">same code' not in page
    shutil.rmtree(handed / "right")  # the list still names it
    assert batch(handed, out, "--names", str(names)) in (0, 1)
    assert rows(out)["Ada"]["warmup1 status"] == "withdrawn"
    names.write_text("file,name\nnobody.py,Ada\n", encoding="utf-8")
    assert batch(handed, out, "--names", str(names)) == 2
    said = "the list of names has `nobody.py`, which is not in the folder; correct its `file`"
    assert said in capsys.readouterr().err


@pytest.mark.slow("a batch is several processes that import torch")
def test_course_systems_get_their_gradebooks(
    handed: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (handed / "nothing").rename(handed / "roebob_1002_20011_nothing.py")
    (handed / "crash").rename(handed / "Ann Lee_55_assignsubmission_file_")
    names = tmp_path / "names.csv"
    names.write_text("file,name,id\nright,Ada,a@b.org\nwrong,=Bob,4711\n", encoding="utf-8")
    words = ("--only", "right", "--only", "wrong", "--also", "canvas", "--also", "moodle")
    assert batch(handed, out, *words, "--names", str(names)) == 0
    score = rows(out)["'=Bob"]["total percent"]
    canvas = list(csv.reader((out / "canvas.csv").read_text(encoding="utf-8").splitlines()))
    assert canvas[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "warmup1"]
    assert canvas[1] == ["    Points Possible", "", "", "", "", "100"]
    assert ["Ada", "", "", "a@b.org", "", "100.00"] in canvas
    assert ["'=Bob", "", "4711", "", "", score] in canvas
    assert ["roebob", "1002", "", "", "", ""] in canvas  # not graded
    assert ["syntax", "", "no id is known", "", "", ""] in canvas
    told = capsys.readouterr().err
    assert "named as by Canvas: 1 entries of 1 people\n" in told
    assert "named as by Moodle: 1 entries of 1 people\n" in told
    assert "canvas.csv`: no id is known of 4, `Ann Lee` first; --names FILE with" in told
    assert "moodle.csv`: no id is known of 5, " in told
    moodle = list(csv.reader((out / "moodle.csv").read_text(encoding="utf-8").splitlines()))
    assert moodle[0] == ["Full name", "ID number", "Email address", "warmup1", "Feedback"]
    assert ["Ada", "", "a@b.org", "100.00", "solved"] in moodle
    assert ["roebob", "no id is known", "", "", "not graded"] in moodle


@pytest.mark.slow("a batch is several processes that import torch")
def test_feedback_gives_nothing_away(tmp_path: Path, out: Path) -> None:
    handed, pages = tmp_path / "handed", out / "feedback"
    for name, source in SOURCES.items():
        (handed / name).mkdir(parents=True)
        (handed / name / "warmup1.py").write_text(source)
        (handed / name / "bug4.py").write_bytes(
            shipped_stub(KIT.find("bug4")) + b"# mine: a secret\n"
        )
    leak = "def self_attention(x):\n    print(x)\n    raise ValueError(x.tolist())\n"
    (handed / "raise" / "warmup1.py").write_text(leak)
    write_record(out.with_name("sent.toml"), "warmup1", "bug4", timeout=30.0)
    forms = ("--also", "feedback", "--also", "gradescope")
    assert batch(handed, out, *forms) == 0
    assert {page.stem for page in pages.iterdir()} == set(SOURCES)
    with (out / "feedback.csv").open(encoding="utf-8", newline="") as file:
        merge = {row["candidate"]: row for row in csv.DictReader(file)}
    assert {name: row["page"] for name, row in merge.items()} == {
        name: str(pages / f"{name}.html") for name in SOURCES
    }
    assert merge["wrong"]["total percent"] == rows(out)["wrong"]["total percent"]
    texts = {page.stem: page.read_text(encoding="utf-8") for page in pages.iterdir()}
    for text in texts.values():
        assert_self_contained(text)
        assert "secret" not in text
        assert not re.search(r"\d\.\d{3}|expected|largest difference", text_of(text))
    assert "the softmax runs over the queries" in text_of(texts["wrong"])
    assert "the weights mix the input" not in text_of(texts["wrong"])  # of bug4
    assert "values are mixed not the input" not in text_of(texts["wrong"])
    assert "a further check" in text_of(texts["wrong"])
    scope = json.loads((out / "gradescope/wrong/results.json").read_text(encoding="utf-8"))
    assert "values are mixed" not in json.dumps(
        [one for one in scope["tests"] if "bug4" in one["name"]]
    )
    scores = sum(one.get("score", 0) for one in scope["tests"])
    assert scores == pytest.approx(scope["score"], abs=1e-4)
    assert "ValueError in line 3" in text_of(texts["raise"])
    shutil.rmtree(handed / "crash")
    (pages / "mine.html").write_text("of the team's own")
    change_record(out, 'feedback = "cause"', 'feedback = "checks"')
    assert batch(handed, out) == 0  # what was asked for once is written anew
    assert {page.stem for page in pages.iterdir()} == {*SOURCES, "mine"} - {"crash"}
    told = text_of((pages / "wrong.html").read_text(encoding="utf-8"))
    assert "the softmax runs over the queries" not in told
    assert re.search(r"\bfail\b", told)
    change_record(out, 'feedback = "checks"', 'feedback = "score"')
    assert batch(handed, out) == 0
    told = text_of((pages / "wrong.html").read_text(encoding="utf-8"))
    assert not re.search(r"\bfail\b|\bpass\b", told)
    earned, possible = (rows(out)["wrong"][f"warmup1 {what}"] for what in ("earned", "possible"))
    assert f"{earned} of {possible} points" in told


@pytest.mark.slow("a batch is several processes that import torch")
def test_several_seeds_tell_of_disagreement(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(handed)
    (handed / "moody").mkdir(parents=True)
    moody = RIGHT.replace("    return", "    if x.sum() > 0:\n        return x\n    return")
    assert moody != RIGHT
    (handed / "moody" / "warmup1.py").write_text(moody)
    write_record(out.with_name("sent.toml"), "warmup1", seeds=3)
    assert batch(handed, out) == 0
    assert "seed 5, 6, 7" in capsys.readouterr().out
    records = reports(out)
    earned = [record["score"]["earned"] for record in records]
    assert [record["seed"] for record in records] == [5, 6, 7]
    row = rows(out)["moody"]
    assert row["warmup1 status"] == ("disagrees" if len(set(earned)) > 1 else "graded")
    assert row["warmup1 earned"] == str(min(earned))


@pytest.mark.slow("a batch is several processes that import torch")
def test_killed_batch_goes_on_to_the_same_results(handed: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert batch(handed, whole) == 1
    words = [sys.executable, *COMMAND, *command(handed, killed)]
    for many in (0, 2, 5):  # of seven; the first is killed at its very beginning
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
            while done(killed) < many and one.poll() is None:
                time.sleep(0.02)
            one.kill()
    assert batch(handed, killed) == 1
    assert verdicts(killed) == verdicts(whole)
    assert rows(killed) == rows(whole)


@pytest.mark.slow("a batch is several processes that import torch")
@pytest.mark.parametrize("words", [[], ["--ray"]])
def test_files_called_like_modules_run_in_the_sandbox_alone(
    tmp_path: Path, words: list[str]
) -> None:
    """In the folder of the files, Python would take one for its own `multiprocessing`."""
    if words:
        pytest.importorskip("ray")
    handed, ran = tmp_path / "handed", tmp_path / "ran"
    handed.mkdir()
    for name in ("multiprocessing", "runpy", "msgspec"):
        (handed / f"{name}.py").write_text(f"open({str(ran)!r}, 'w')\n")
    batch_words = command(Path(), tmp_path / "out", "--jobs", "1", *words)
    start = [sys.executable, "-P", *COMMAND, *batch_words]
    subprocess.run(start, cwd=handed, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done(tmp_path / "out") == 3
    assert not ran.exists()


@pytest.mark.slow("a batch is several processes that import torch")
def test_ctrl_c_says_so_and_leaves_what_was_done(handed: Path, out: Path) -> None:
    words = command(handed, out, "--jobs", "1")
    start = [sys.executable, *COMMAND, *words]
    with subprocess.Popen(start, stderr=subprocess.PIPE, text=True) as one:
        deadline = time.monotonic() + 300
        while not done(out) and time.monotonic() < deadline:
            time.sleep(0.05)
        one.send_signal(signal.SIGINT)
        assert one.stderr is not None
        told = one.stderr.read()
        assert one.wait(timeout=300) == 130
    assert f"stopped: {done(out)} of 7 graded, and kept; run it again to continue: `grade" in told
    assert f"`{shlex.join(['grade', *words])}`" in told
    assert sum(row["total percent"] != "" for row in rows(out).values()) == done(out)
    assert 0 < done(out) < 7
    assert batch(handed, out) == 1
    assert len(verdicts(out)) == 7


def done(out: Path) -> int:
    if not (out / "results.sqlite").exists():
        return 0
    with BatchStore(out / "results.sqlite") as store:
        return len(store.done())


def test_process_that_gives_out_tasks_does_without_torch() -> None:
    begin = "GradingPool(PoolSettings('', 'auto', 'cpu', 10.0, 1024, 100), 1).close()"
    names = "import sys\nfrom grader.hiring.process_pool import GradingPool, PoolSettings\n"
    code = f"{names}if __name__ == '__main__':\n    {begin}\n    sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow("a batch is several processes that import torch")
def test_process_that_dies_costs_its_task_a_try_and_nobody_else_anything() -> None:
    tasks = [Task(f"c{n}", "warmup1", 5, "warmup1.py", RIGHT.encode()) for n in range(6)]
    with GradingPool(SETTINGS, 2) as pool:
        outcomes = pool.run(tasks)
        names = [next(outcomes)[0].candidate]
        os.kill(pool.pids[0], signal.SIGKILL)
        for task, outcome in outcomes:
            names.append(task.candidate)
            assert outcome.report is not None
            assert outcome.report.solved
    assert sorted(names) == [f"c{n}" for n in range(6)]


@pytest.mark.slow("a batch is several processes that import torch")
def test_task_whose_process_dies_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(self: GradingPool, grader: object) -> None:
        return None

    task = Task("c", "warmup1", 5, "warmup1.py", RIGHT.encode())
    with GradingPool(SETTINGS, 1) as pool:
        monkeypatch.setattr(GradingPool, "_outcome", killed)
        ((told, outcome),) = list(pool.run([task]))
    assert told is task
    assert outcome.report is None
    assert "died 2 times" in outcome.fault


HANGS = """
    import pathlib, signal, threading
    if "hang" in harness.session.source and pathlib.Path(__file__).with_name("hangs").exists():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        threading.Event().wait()
"""


@pytest.fixture
def kit_that_hangs(tmp_path: Path) -> Path:
    """The tiny kit, whose suite never ends where the submission says so, and heeds no SIGTERM."""
    kit = tmp_path / "kit"
    shutil.copytree(TINY_KIT, kit, ignore=shutil.ignore_patterns(".grade"))
    suite = kit / "tests/suites/basics/test_double.py"
    text, begin = suite.read_text(encoding="utf-8"), '    """2·x for x of this length."""\n'
    assert begin in text
    suite.write_text(text.replace(begin, begin + HANGS), encoding="utf-8")
    suite.with_name("hangs").touch()
    return kit


@pytest.mark.slow("a batch is several processes that import torch")
def test_grading_that_hangs_costs_its_row_alone_and_is_tried_again_by_the_same_command(
    kit_that_hangs: Path,
    tmp_path: Path,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    handed = tmp_path / "handed"
    handed.mkdir()
    right = "def double(x):\n    return 2 * x\n"
    for name in ("ann", "ben", "cy"):
        (handed / f"{name}.py").write_text(right)
    (handed / "ann.py").write_text(f"# hang\n{right}")
    monkeypatch.setattr("grader.hiring.process_pool.max_wall_s", lambda _: 10.0)
    kit = str(kit_that_hangs)
    words = ["batch", str(handed), "--exercise", "double", "--kit", kit, "--out", str(out)]
    assert run_command([*words, "--jobs", "1"]) == 3
    told = capsys.readouterr().err
    assert "not graded: `ann`, double: the process that graded it hung for 0 minutes" in told
    assert "run the same command to try these again" in told
    found = rows(out)
    assert {found[name]["total percent"] for name in ("ben", "cy")} == {"100.00"}
    assert found["ann"]["double status"] == "not graded"
    assert found["ann"]["double note"].startswith("the process that graded it hung")
    (kit_that_hangs / "tests/suites/basics/hangs").unlink()
    assert run_command([*words, "--jobs", "1"]) == 0
    assert rows(out)["ann"]["total percent"] == "100.00"
    assert rows(out)["ann"]["double note"] == ""


@pytest.mark.slow("a batch is several processes that import torch")
def test_process_that_stops_reading_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.hiring.process_pool.max_wall_s", lambda _: 10.0)
    large = f"{RIGHT}#{'x' * (1 << 20)}".encode()  # more than a connection holds
    tasks = [Task(f"c{n}", "warmup1", 5, "warmup1.py", large) for n in range(2)]
    with GradingPool(SETTINGS, 1) as pool:
        os.kill(pool.pids[0], signal.SIGSTOP)
        outcomes = [outcome for _, outcome in pool.run(tasks)]
    assert "hung" in outcomes[0].fault
    assert outcomes[1].report is not None


def test_no_slow_right_answer_meets_the_limit_of_a_grading() -> None:
    slow = replace(SETTINGS, timeout=60.0)
    for settings in (SETTINGS, slow):
        worker = limits_for(settings.timeout).cpu  # which the kernel ends at this processor time
        assert max_wall_s(settings) > MAX_WALL_S_PER_LIMIT_S * (worker + MAX_JUDGING_CPU_S)


@pytest.mark.slow("a batch is several processes that import torch")
@pytest.mark.parametrize("times", [1, 2])
def test_what_the_machine_was_too_busy_for_is_tried_again_alone_at_the_end(
    handed: Path,
    out: Path,
    times: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    honest = GradingPool._outcome
    tried: list[tuple[str, int]] = []  # whom, and how many at once

    def outcome(self: GradingPool, grader: Any) -> TaskOutcome | None:
        name = grader.task.candidate
        tried.append((name, sum(one.task is not None for one in self._graders)))
        done = honest(self, grader)
        if name == "right" and [one for one, _ in tried].count(name) <= times:
            return TaskOutcome(fault="this machine is too busy", busy=True)
        return done

    monkeypatch.setattr(GradingPool, "_outcome", outcome)
    assert batch(handed, out, "--jobs", "2") == (1 if times == 1 else 3)
    assert tried[-1] == ("right", 1)
    assert [name for name, _ in tried].count("right") == 2
    assert len(tried) == len(SOURCES) + 2  # one handed in nothing
    found, told = rows(out)["right"], capsys.readouterr().err
    assert found["total percent"] == ("100.00" if times == 1 else "")
    assert ("not graded: `right`, warmup1: this machine is too busy" in told) == (times == 2)


@pytest.mark.slow("a batch is several processes that import torch")
def test_tasks_are_taken_as_there_are_processes_for_them() -> None:
    taken = []

    def tasks() -> Iterator[Task]:
        for number in range(5):
            taken.append(number)
            yield Task(f"c{number}", "warmup1", 5, "warmup1.py", RIGHT.encode())

    with GradingPool(SETTINGS, 1) as pool:
        for done, _ in enumerate(pool.run(tasks()), 1):
            assert len(taken) <= done + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--isolation", "process"], ""),
        (["--only", "nobody"], "there is no candidate `nobody`"),
        (["--exercise", "warmup1"], "say what was sent: --takehome FILE, or --exercise"),
        (["--takehome", "nowhere.toml"], "there is no `nowhere.toml`; `grade pack` writes one"),
    ],
)
def test_bad_input_is_one_clear_line(
    handed: Path, out: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        batch(handed, out, "--only", "right", *words)
        if "--only" not in words
        else batch(handed, out, *words)
    )
    err = capsys.readouterr().err
    assert code == (2 if said else 0), err
    if said:
        (line,) = [line for line in err.splitlines() if line.startswith("grade: ")]
        assert said in line


def test_device_that_is_not_there_is_said(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(out.with_name("sent.toml"), "warmup1", device="mps")
    assert batch(handed, out, "--only", "right") == 2
    assert "no device `mps`" in capsys.readouterr().err


@pytest.mark.slow("a batch is several processes that import torch")
def test_machine_without_memory_for_one_process_is_told_what_to_do(
    handed: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grader.hiring.beginning.memory_to_take", lambda: 2048)
    assert batch(handed, out, "--only", "right") == 2
    said = "2048 MiB are too little for one process that grades (2748 MiB); free some, lower `memo"
    assert said in capsys.readouterr().err
    change_record(out, "memory = 2048 ", "memory = 1024 ")
    assert batch(handed, out, "--only", "right") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seed", "5"], "no --seed any more: `seed` in the take-home's record, which `grade pa"),
        (["--seeds=3"], "`seeds` in the take-home's record, which `grade pack` writes, says it"),
        (["--timeout", "9"], "`timeout` in the take-home's record"),
        (["--memory", "512"], "`memory` in the take-home's record"),
        (["--device", "cuda"], "`device` in the take-home's record"),
        (["--memory-all", "9000"], "--jobs says how many processes"),
        (["--feedback", "pages"], "--also feedback writes the pages"),
        (["--bom"], "--also excel writes a gradebook for Excel"),
    ],
)
def test_option_that_is_gone_says_where_it_is_now(
    handed: Path, out: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch(handed, out, *words) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_unknown_option_is_unknown(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch(handed, out, "--seedy") == 2
    assert "No such option '--seedy'" in capsys.readouterr().err


@pytest.mark.slow("a batch is several processes that import torch")
def test_exercise_without_a_take_home_is_graded_as_a_fresh_record_says(
    handed: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["batch", str(handed), "--exercise", "warmup1", "--out", str(out), "--only", "right"]
    assert run_command(words) == 0
    with BatchStore(out / "results.sqlite") as store:
        settings = store.known_settings()
    assert settings is not None
    assert len(settings.seeds) == 1
    assert (settings.timeout, settings.memory, settings.device) == (10.0, 2048, "cpu")
    assert run_command(words) == 0  # with the seed that it drew
    assert "0 graded, 1 were there before; seed" in capsys.readouterr().out
    assert run_command([*words, "--exercise", "warmup2"]) == 2
    assert "was begun with another `exercises`: ('warmup1',)" in capsys.readouterr().err


def test_weak_machine_is_refused(
    handed: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grader.cli.batch_begin.LEVELS_FOR_STRANGERS", ("no such level",))
    assert batch(handed, out, "--only", "right") == 2
    assert "strangers' files need more" in capsys.readouterr().err
    assert done(out) == 0


def test_store_from_a_newer_version_or_damaged_is_said(out: Path) -> None:
    out.mkdir()
    (out / "results.sqlite").write_text("no database at all " * 500)
    with pytest.raises(GradeError, match=r"cannot be used: .*; choose another folder"):
        BatchStore(out / "results.sqlite")
    with closing(sqlite3.connect(out / "newer.sqlite")) as connection, connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(GradeError, match="from a newer version"):
        BatchStore(out / "newer.sqlite")


@pytest.mark.parametrize("plan", ["{", '{"a":' * 2000])
def test_what_no_batch_wrote_is_said(out: Path, plan: str) -> None:
    """A damaged byte was a fault of the grader."""
    path = out / "results.sqlite"
    with BatchStore(path):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO plan VALUES (1, ?)", (plan,))
        connection.close()
    with BatchStore(path) as store, pytest.raises(GradeError, match=r"cannot be used: .*; choose"):
        store.known_settings()


@pytest.mark.slow("a batch is several processes that import torch")
def test_full_disk_is_told_and_what_was_graded_stays(handed: Path, out: Path) -> None:
    assert batch(handed, out, "--only", "right") == 0
    with BatchStore(out / "results.sqlite") as store:
        (kept,) = store.results()
    with BatchStore(out / "results.sqlite") as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        large = replace(kept, candidate="other", source="x" * 1_000_000)
        with pytest.raises(GraderFault, match=r"cannot be written: .* full; .* to continue"):
            store.add(large)
    with BatchStore(out / "results.sqlite") as store:
        assert list(store.results()) == [kept]


def test_batch_keeps_the_settings_it_was_begun_with(out: Path) -> None:
    settings = BatchSettings(
        "", ("warmup1",), (5,), "full", "cpu", 5.0, 1024, "0.1.0", "2.13.0", "k"
    )
    with BatchStore(out / "results.sqlite") as store:
        assert store.known_settings() is None
        store.begin_or_resume(settings)
        store.begin_or_resume(settings)
        assert store.known_settings() == settings


CANDIDATES = [
    "../../etc/passwd", "a/b", "", ".", "..", "CON", "a" * 300, "漢" * 84, "Zoë",
    "x\x00y", "ada", "-rf",
]  # fmt: skip


@pytest.mark.parametrize("name", CANDIDATES)
def test_files_of_a_candidate_stay_where_they_belong(name: str) -> None:
    made = safe_name(name)
    assert Path(made).name == made
    assert made not in ("", ".", "..")
    assert not made.startswith("-")
    assert len(f"{made}.html.draft".encode()) < 255


def test_no_two_candidates_share_a_file() -> None:
    names = ["a b", "a_b", "a/b", "A b", "a\tb", "Ada", "ada", "ADA", "sam", "ſam"]
    names += [safe_name("a b"), safe_name(safe_name("a b"))]  # chosen so by somebody else
    assert len({safe_name(name).casefold() for name in names}) == len(names)


@pytest.mark.slow("a batch is several processes that import torch")
def test_gradescopes_script_works_in_a_folder_laid_out_as_theirs(tmp_path: Path) -> None:
    home = tmp_path / "autograder"
    for folder in ("submission", "results", "venv/bin"):
        (home / folder).mkdir(parents=True)
    (home / "source").mkdir()
    write_record(home / "source" / "takehome.toml", "warmup1", seed=1234567)
    (home / "submission" / "mine.py").write_text(SOURCES["wrong"])
    command = home / "venv/bin/grade"
    words = " ".join(shlex.quote(word) for word in (sys.executable, *COMMAND))
    command.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    command.chmod(0o755)
    script = ROOT / "docs/gradescope/run_autograder"
    done = subprocess.run(
        [script],
        env={**os.environ, "AUTOGRADER": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((home / "results/results.json").read_text(encoding="utf-8"))
    assert 0 < record["score"] < 100
    assert ", isolation " in record["output"]
    assert "1234567" in done.stdout
    assert "seed" not in json.dumps(record)
