"""Take-homes: what is sent, what is kept back, and the record of it."""

from __future__ import annotations

import importlib
import re
import shutil
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from grader.cli import cli, run_command
from grader.diagnosis.catalogue import catalogue
from grader.errors import GradeError
from grader.hiring.pack import make_takehome, record_path
from grader.hiring.takehome import read_takehome
from grader.kit import Exercise, load_kit
from grader.kit.spoilers import spoilers
from tests.support.alone import run_alone
from tests.support.paths import ROOT

KIT = load_kit(ROOT)
PACK = ("exercise3", "exercise5", "bug4")
# Lines that say nothing about any answer.
PLAIN = {
    "",
    "}",
    ")",
    "import torch",
    "from torch.nn import functional as F",
    "from math import log, sqrt",
    "with torch.no_grad():",
    "for dtype in (torch.float32, torch.float64):",
    "def forward(self, x):",
    "assert out.shape == x.shape",
}

each_exercise = pytest.mark.parametrize("exercise", KIT.exercises, ids=lambda e: e.name)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "takehome.zip"


def packed(out: Path, *names: str) -> dict[str, str]:
    """The text of every file in the bundle of some exercises."""
    make_takehome(KIT, names, "A title", 90, out, force=True)
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def lines_of(*texts: str) -> set[str]:
    return {line.strip() for text in texts for line in text.splitlines()}


@each_exercise
def test_bundle_holds_the_files_that_it_should_and_no_others(exercise: Exercise, out: Path) -> None:
    files = packed(out, exercise.name)
    contracts = {name for name in files if name.startswith("contracts/")}
    assert set(files) - contracts == {
        f"{exercise.name}.py",
        f"checks/test_{exercise.name}.py",
        "README.md",
        "pytest.ini",
        "requirements.txt",
    }
    stubs = {f"contracts/{e.name}.py": e.stub for e in KIT.exercises if e.track != "bugs"}
    assert len(contracts) <= 1
    for name in contracts:
        assert files[name] == stubs[name].read_text(encoding="utf-8")
    assert files[f"{exercise.name}.py"] == exercise.stub.read_text(encoding="utf-8")


@each_exercise
def test_bundle_gives_nothing_away(exercise: Exercise, out: Path) -> None:
    files = packed(out, exercise.name)
    given = [text for name, text in files.items() if re.fullmatch(r"(contracts/)?\w+\.py", name)]
    secret = [path for e in KIT.exercises for path in (e.solution, e.suite)]
    hidden = lines_of(*(path.read_text(encoding="utf-8") for path in secret))
    hidden -= PLAIN | lines_of(*given)
    words = [hint for e in KIT.exercises for hint in e.hints]
    words += [word for m in catalogue().values() for word in (m.name, m.says, m.hint, m.hurts)]
    for name, text in files.items():
        assert not lines_of(text) & hidden, name
        assert not [word for word in words if word in text], name
        assert not re.search(r"^\s*(import|from) (grader|tests)\b", text, re.MULTILINE), name


def test_line_of_a_solution_counts_as_secret(out: Path) -> None:
    files = packed(out, "exercise3")
    solution = KIT.find("exercise3").solution.read_text(encoding="utf-8")
    assert "q, k, v = self.proj(x).chunk(3, dim=-1)  # (B, T, 3C) -> three of (B, T, C)" in (
        lines_of(solution) - PLAIN - lines_of(*files.values())
    )


def test_same_pack_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    first, second = (tmp_path / name / "takehome.zip" for name in ("first", "second"))
    for out in (first, second):
        out.parent.mkdir()
        make_takehome(KIT, PACK, "A title", 90, out)
    assert first.read_bytes() == second.read_bytes()
    records = [read_takehome(record_path(out), KIT) for out in (first, second)]
    assert records[0] != records[1]  # each has a seed of its own, which is in no bundle
    assert structs.replace(records[0], seed=1) == structs.replace(records[1], seed=1)
    assert str(records[0].seed).encode() not in first.read_bytes()
    with zipfile.ZipFile(first) as archive:
        infos = archive.infolist()
    assert [info.filename for info in infos] == sorted(info.filename for info in infos)
    for info in infos:
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
        assert info.compress_type == zipfile.ZIP_STORED
        assert stat.filemode(info.external_attr >> 16) == "-rw-r--r--"


def test_every_pair_that_gives_one_another_away_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["exercise1", "exercise2", "bug1", "bug4", "exercise3"]
    words = ["--title", "t", "--minutes", "1", "--out", str(tmp_path / "takehome.zip")]
    assert run_command(["pack", *names, *words]) == 0
    told = re.findall(r"mind that `(\w+)` gives `(\w+)` away", capsys.readouterr().err)
    assert sorted(told) == [
        ("bug1", "exercise1"),
        ("bug1", "exercise2"),
        ("bug4", "exercise1"),
        ("bug4", "exercise2"),
    ]
    with zipfile.ZipFile(tmp_path / "takehome.zip") as archive:
        assert "You have 1 minute. " in archive.read("README.md").decode()


def test_learners_work_is_not_sent(tmp_path: Path) -> None:
    mine = tmp_path / "exercise3.py"
    mine.write_text("# my own work\n", encoding="utf-8")
    exercises = tuple(replace(e, file=mine) if e.name == "exercise3" else e for e in KIT.exercises)
    out = tmp_path / "takehome.zip"
    make_takehome(replace(KIT, exercises=exercises), ["exercise3"], "A title", 90, out)
    with zipfile.ZipFile(out) as archive:
        assert b"my own work" not in archive.read("exercise3.py")


def test_readme_says_how_long_what_and_by_which_rules(out: Path) -> None:
    readme = packed(out, *PACK)["README.md"]
    assert "$" not in readme
    assert readme.startswith("# A title\n\nYou have 90 minutes.")
    for name in KIT.find("exercise3").forbidden:
        assert f"`{name}`" in readme
    assert "`exercise3.py`, `exercise5.py` and `bug4.py`, names unchanged" in readme
    assert "| `exercise5.py` | Multi-head self-attention | write it |" in readme
    assert "| `bug4.py` | A layer whose weights never change | find what is wrong" in readme
    assert "`contracts/exercise1.py`" in readme


def test_requirements_are_what_is_installed_here(out: Path) -> None:
    lines = packed(out, "warmup1")["requirements.txt"].splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert set(pins) == {"numpy", "pytest", "torch"}
    for name, version in pins.items():
        assert re.fullmatch(r"[0-9.]+", version), name  # an index has no local versions
        assert importlib.import_module(name).__version__.startswith(version)


@pytest.mark.slow("a process that imports torch")
def test_unpacked_bundle_runs_with_nothing_of_ours(out: Path, tmp_path: Path) -> None:
    packed(out, *PACK)
    folder = tmp_path / "candidate"
    shutil.unpack_archive(out, folder)
    before = run_alone(folder, "-q", "--tb=line")
    assert before.returncode == 1, before.stdout + before.stderr
    assert "NotImplementedError" in before.stdout
    for name in PACK:
        shutil.copy(KIT.find(name).solution, folder / f"{name}.py")
    after = run_alone(folder, "-q")
    assert after.returncode == 0, after.stdout + after.stderr
    assert "failed" not in after.stdout


def test_ours_cannot_be_imported_where_bundles_are_tried(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    import grader.kit\n")
    assert "ModuleNotFoundError" in run_alone(tmp_path, "-q").stdout


@pytest.mark.parametrize(
    ("giver", "taker"),
    [
        ("bug14", "exercise2"),
        ("bug14", "bug1"),  # another repair of the same class
        ("bug3", "bug11"),
        ("bug7", "exercise5"),
        ("bug13", "exercise5"),
        ("bug12", "exercise6"),  # the attention inside the block
        ("bug2", "exercise4"),  # of another name, and asks for no more
        ("bug1", "exercise1"),
        ("bug8", "warmup1"),
        ("bug15", "decoder3"),  # its queries are rotated, and shared
        ("bug17", "decoder1"),
        ("decoder9", "exercise6"),  # its blocks are given
    ],
)
def test_exercises_that_give_each_other_away_are_told(giver: str, taker: str) -> None:
    for names in ([giver, taker], ["warmup2", taker, giver]):
        given = next(spoilers(KIT, [KIT.find(name) for name in names]))
        assert " away: its file comes with " in given
    told = next(spoilers(KIT, [KIT.find(giver), KIT.find(taker)]))
    assert f"`{giver}` gives `{taker}` away" in told


@pytest.mark.parametrize(
    "names",
    [
        [e.name for e in KIT.exercises if e.track != "bugs" and e.name != "decoder9"],
        ["exercise3", "exercise5", "bug4"],
        ["exercise5", "bug2"],
        ["exercise3", "bug7"],
        ["decoder3", "decoder8", "bug7"],
        ["exercise6", "bug11", "bug14"],
        ["bug1", "bug2", "bug7"],
    ],
    ids=" ".join,
)
def test_exercises_that_keep_their_secrets_are_packed(names: list[str]) -> None:
    assert not any(spoilers(KIT, [KIT.find(name) for name in names]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"exercises": []}, "it holds no exercise; name one or more"),
        ({"exercises": ["exercize3"]}, "did you mean `exercise3`"),
        ({"exercises": ["exercise3", "exercise5", "exercise3"]}, "`exercise3` is there twice"),
        ({"title": " "}, "the title is ''"),
        ({"title": "two\nlines"}, "the title is 'two\\\\nlines'; give one line"),
        ({"title": "\x1b[31mred"}, "give one line of text"),
        ({"minutes": 0}, "`minutes` is 0; give 1 or more"),
        ({"weights": {"exercise3": -1}}, "the weight of `exercise3` is -1.0"),
        ({"weights": {"exercise5": 2}}, "a weight for `exercise5`, which is not in the pack"),
        ({"weights": {"exercise3": 0}}, "all weights are 0"),
        ({"out": Path("takehome")}, "`takehome` is not a name for a zip"),
        ({"out": Path("nowhere/takehome.zip")}, "there is no folder `nowhere`; make it first"),
    ],
)
def test_pack_that_makes_no_sense_is_refused(
    changed: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: dict[str, object] = {
        "exercises": ["exercise3"],
        "title": "A title",
        "minutes": 90,
        "out": Path("takehome.zip"),
        **changed,
    }
    with pytest.raises(GradeError, match=message) as told:
        make_takehome(KIT, **asked)  # type: ignore[arg-type]  # as the cases say
    assert len(str(told.value).splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("there", ["takehome.zip", "takehome.toml"])
def test_file_that_is_there_is_replaced_only_by_force(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("precious")
    out = tmp_path / "takehome.zip"
    with pytest.raises(GradeError, match=f"{there}` already exists"):
        make_takehome(KIT, ["exercise3"], "A title", 90, out)
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "precious"
    make_takehome(KIT, ["exercise3"], "A title", 90, out, force=True)
    assert read_takehome(record_path(out), KIT).archive == out.name


def test_exercise_without_public_checks_cannot_be_packed(out: Path) -> None:
    suite = out.parent / "tests" / "suites" / "warmups" / "test_warmup1.py"
    exercises = tuple(replace(e, suite=suite) for e in KIT.exercises)
    with pytest.raises(GradeError, match="`warmup1` has no public checks; write some in"):
        make_takehome(replace(KIT, exercises=exercises), ["warmup1"], "A title", 90, out)


def test_kit_that_does_not_say_what_it_asks_for_tells_of_the_same_class_only() -> None:
    kit = replace(KIT, exercises=tuple(replace(e, asks=None) for e in KIT.exercises))
    assert not any(spoilers(kit, [kit.find("bug2"), kit.find("exercise4")]))
    told = next(spoilers(kit, [kit.find("bug2"), kit.find("exercise3")]))
    assert "a `SelfAttentionV3` that is written out" in told


def test_command_packs_and_says_what_is_whose(out: Path) -> None:
    words = [*PACK, "--title", "A title", "--minutes", "90", "--out", str(out)]
    done = CliRunner().invoke(cli, ["pack", *words, "--kit", str(ROOT)])
    assert done.exit_code == 0, done.output
    assert "mind that" not in done.stderr
    assert done.output.splitlines() == [
        f"`{out}` is for candidates",
        f"`{out.with_suffix('.toml')}` is yours alone: "
        "a secret seed, and rules that you may change",
    ]
    again = CliRunner().invoke(cli, ["pack", *words, "--kit", str(ROOT)])
    assert isinstance(again.exception, GradeError)
    assert "--force" in str(again.exception)
    assert CliRunner().invoke(cli, ["pack", *words, "--kit", str(ROOT), "--force"]).exit_code == 0
