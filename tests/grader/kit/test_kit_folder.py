"""Kits, targets and a learner's folder."""

from __future__ import annotations

import shutil
import subprocess
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli.arguments import resolve_targets
from grader.errors import GradeError
from grader.kit import Kit, installed_kit, load_kit
from grader.kit.notebooks import is_notebook_edited, put_notebook
from grader.kit.stubs import digest, is_edited, restore_stub, shipped_stub
from grader.practice.folder import make_folder
from tests.support.paths import TINY_KIT


def test_known_mistakes_lie_beside_the_solution_or_where_earlier_kits_have_them(
    tmp_path: Path,
) -> None:
    home = tmp_path / "kit"
    shutil.copytree(TINY_KIT, home)
    assert load_kit(home).find("double").mistakes == home / "solutions/basics/double.toml"
    former = home / "tests/answers/double/wrong.toml"
    former.parent.mkdir(parents=True)
    former.write_text("", encoding="utf-8")
    assert load_kit(home).find("double").mistakes == former


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder of the default kit, with the shell in it."""
    make_folder(tmp_path / "drills", installed_kit())
    monkeypatch.chdir(tmp_path / "drills")
    return tmp_path / "drills"


def test_near_names_are_offered(kit: Kit) -> None:
    with pytest.raises(GradeError, match="`dubble`; did you mean `double`"):
        kit.find("dubble")
    with pytest.raises(GradeError, match="`grade list` shows them all"):
        kit.find("zzz")


def test_folder_of_stubs_is_found_from_inside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "exercises" / "variants")
    kit = load_kit()
    assert kit.home == folder
    exercise = kit.find("exercise3")
    assert exercise.file == folder / "exercises" / "variants" / "exercise3.py"
    assert exercise.suite == installed_kit().find("exercise3").suite


def test_folder_holds_no_suite_and_no_solution(folder: Path) -> None:
    exercises = {e.stub.name: e for e in installed_kit().exercises}
    stubs = set(exercises)
    assert {path.name for path in folder.rglob("*") if path.is_file()} == stubs | {"kit.toml"}
    for path in folder.rglob("*.py"):
        assert digest(path.read_bytes()) == exercises[path.name].digest


def test_kit_with_suites_is_not_taken_by_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "exercises" / "kit.toml"
    planted.parent.mkdir()
    planted.write_text('[kit]\nname = "evil"\n')
    monkeypatch.chdir(tmp_path)
    assert load_kit().home == installed_kit().home


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[kit", "is damaged"),
        ("x = " + "[" * 5000, "is damaged"),
        ("x = " + "1" * 5000, "is damaged"),
        ("x" + ".x" * 2000 + " = 1", "a line has more than 50 dots"),
        ('[kit]\nname = "x"\ncolour = "red"\n', "colour"),
        ('[kit]\nstubs_of = "other"\n', "no kit `other` is here"),
        ('[kit]\nstubs_of = "../other"\n', "a kit that can have no such name"),
        (f'[kit]\nstubs_of = "{"a" * 300}"\n', "a kit that can have no such name"),
        ('[[exercise]]\nname = "x"\n', "missing required field"),
    ],
)
def test_damaged_manifest_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "kit.toml").write_text(text)
    with pytest.raises(GradeError, match=message):
        load_kit(tmp_path)


def test_huge_files_of_a_folder_are_not_read_whole(folder: Path) -> None:
    """Files with holes, which a few kilobytes of an archive unpack to."""
    kit, manifest = load_kit(folder), folder / "exercises" / "kit.toml"
    exercise = kit.find("warmup1")
    tracemalloc.start()
    for file in (exercise.file, exercise.file.with_suffix(".ipynb"), manifest):
        with file.open("ab") as opened:
            opened.truncate(1 << 30)
    assert is_edited(exercise)
    assert is_notebook_edited(exercise)
    assert put_notebook(exercise, kit) is not None
    with pytest.raises(GradeError, match="is larger than 1,024 KiB; restore it"):
        load_kit(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 << 20


def test_folder_without_a_manifest_is_no_kit(tmp_path: Path) -> None:
    with pytest.raises(GradeError, match="is not a kit"):
        load_kit(tmp_path)


def test_targets(folder: Path) -> None:
    kit = load_kit()
    mine = Path("mine.py")
    mine.touch()
    found = resolve_targets(["exercise3", "exercise4", "mine.py", "mine.py"], kit)
    assert [(e.name, path) for e, path in found] == [
        ("exercise3", Path("exercises/variants/exercise3.py")),
        ("exercise4", mine),
        ("exercise4", mine),
    ]
    assert [e.name for e, _ in resolve_targets(["all"], kit)] == [e.name for e in kit.exercises]
    assert resolve_targets(["some/where/exercise5.py"], kit)[0][0].name == "exercise5"
    with pytest.raises(GradeError, match="does not say which exercise"):
        resolve_targets(["mine.py"], kit)
    with pytest.raises(GradeError, match="did you mean `exercise3`"):
        resolve_targets(["exercize3"], kit)
    stub = load_kit().find("exercise3").file
    stub.unlink()
    with pytest.raises(GradeError, match="`grade reset exercise3`"):
        resolve_targets(["exercise3"], kit)
    stub.symlink_to("/proc/kmsg")
    with pytest.raises(GradeError, match="a link that leads out of"):
        resolve_targets(["exercise3"], kit)


def test_reset_puts_the_stub_back_and_keeps_what_it_replaces(folder: Path) -> None:
    kit = load_kit()
    exercise = kit.find("exercise3")
    assert not is_edited(exercise)
    assert restore_stub(exercise, kit) is None
    exercise.file.write_text("mine")
    assert is_edited(exercise)
    kept = restore_stub(exercise, kit)
    assert kept is not None
    assert kept.read_text() == "mine"
    assert digest(exercise.file.read_bytes()) == exercise.digest


def test_stub_in_earlier_words_is_the_stub(folder: Path) -> None:
    exercise = replace(load_kit().find("exercise3"), earlier=(digest(b"in earlier words"),))
    exercise.file.write_bytes(b"in earlier words")
    assert not is_edited(exercise)
    exercise.file.write_bytes(b"in words of my own")
    assert is_edited(exercise)


def test_stub_that_was_edited_in_a_checkout_comes_out_of_its_history(
    tmp_path: Path, kit: Kit
) -> None:
    stub = tmp_path / "double.py"
    exercise = replace(kit.find("double"), stub=stub, file=stub, digest=digest(b"as shipped"))

    def commit(text: bytes) -> None:
        stub.write_bytes(text)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "x"], check=True)

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for text in (b"older", b"as shipped", b"mine"):
        commit(text)
    assert shipped_stub(exercise) == b"as shipped"
    with pytest.raises(GradeError, match="neither in"):
        shipped_stub(replace(exercise, digest="f" * 16))


def test_history_is_read_for_what_was_edited_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.kit.stubs._git", lambda *words: pytest.fail(str(words)))
    exercise = installed_kit().exercises[0]
    assert digest(shipped_stub(exercise)) == exercise.digest


def test_folder_is_not_made_over_another(folder: Path) -> None:
    with pytest.raises(GradeError, match="already exists"):
        make_folder(folder, installed_kit())
