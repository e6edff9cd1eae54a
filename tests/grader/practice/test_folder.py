"""A learner's folder that is of an older or newer version, renamed, moved or edited by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli import run_command
from grader.errors import GradeError
from grader.kit import Kit, installed_kit, load_kit
from grader.kit.stubs import digest, is_edited, restore_stub
from grader.practice.folder import make_folder, update_folder
from grader.practice.history import open_history
from grader.records import Explain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_folder(tmp_path / "drills", installed_kit())
    return tmp_path / "drills"


def edit_manifest(folder: Path, pattern: str, text: str) -> None:
    path = folder / "exercises/kit.toml"
    before = path.read_text(encoding="utf-8")
    after = re.sub(pattern, text, before)
    assert after != before
    path.write_text(after, encoding="utf-8")


def test_fresh_folder_is_up_to_date(folder: Path) -> None:
    kit = load_kit(folder)
    assert kit.outdated == []
    assert update_folder(kit) == {}


def test_stub_is_put_back_through_no_link(folder: Path) -> None:
    kit, precious = load_kit(folder), folder / "precious"
    precious.write_text("mine")
    exercise = kit.find("warmup1")
    exercise.file.with_suffix(".draft").symlink_to(precious)
    restore_stub(exercise, kit)
    assert precious.read_text() == "mine"
    assert not is_edited(exercise)


@pytest.mark.parametrize("path", [".grade/replaced", "exercises/warmups", "exercises/kit.toml"])
def test_nothing_is_written_where_a_link_leads_out(folder: Path, path: str) -> None:
    """A stranger's file that is replaced could be moved to where a program runs it."""
    kit, outside = load_kit(folder), folder.with_name("outside")
    (folder / ".grade" / "replaced").mkdir(parents=True)
    (folder / path).rename(outside)
    (folder / path).symlink_to(outside)
    before = outside.stat()
    with pytest.raises(GradeError, match="by a link: remove that link first"):
        update_folder(kit), restore_stub(kit.find("warmup1"), kit)
    assert outside.stat().st_mtime_ns == before.st_mtime_ns


def test_moved_folder_keeps_its_history(folder: Path) -> None:
    with open_history(load_kit(folder)) as history:
        history.show_hints("exercise3", 2)
    moved = folder.rename(folder.with_name("elsewhere"))
    with open_history(load_kit(moved)) as history:
        assert history.hints("exercise3") == 2


def test_older_folder_is_said_and_updated(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    old = b"# an earlier stub\n"
    stub, mine = (folder / "exercises/warmups" / f"warmup{n}.py" for n in (1, 2))
    edit_manifest(folder, r'warmup1 = "\w+"', f'warmup1 = "{digest(old)}"')
    edit_manifest(folder, r'warmup2 = "\w+"', 'warmup2 = "0000000000000000"')
    edit_manifest(folder, r'warmup3 = "\w+"\n', "")
    edit_manifest(folder, r'version = "[^"]+"', 'version = "0.0.9"')
    stub.write_bytes(old)
    mine.write_text("my own work")
    (folder / "exercises/warmups/warmup3.py").unlink()
    assert not is_edited(load_kit(folder).find("warmup1"))
    assert run_command(["list"]) == 0
    err = capsys.readouterr().err
    assert "3 exercises are new or changed since version 0.0.9" in err
    assert len(err.splitlines()) == 1
    assert run_command(["init", ".", "--update"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"warmup1 +renewed", out)
    assert re.search(r"warmup2 +kept; `grade reset warmup2` gives the new stub", out)
    assert re.search(r"warmup3 +new", out)
    assert mine.read_text() == "my own work"
    assert b"def self_attention" in stub.read_bytes()
    assert load_kit(folder).outdated == []
    assert run_command(["init", ".", "--update"]) == 0
    assert "up to date" in capsys.readouterr().out


def test_newer_folder_is_one_clear_line(folder: Path) -> None:
    edit_manifest(folder, r'version = "[^"]+"', 'version = "99.1"')
    with pytest.raises(GradeError, match=r"made by version 99\.1, and here is .*; update"):
        load_kit(folder)
    edit_manifest(folder, r'version = "[^"]+"', f'version = "{"9" * 5000}"')
    with pytest.raises(GradeError, match=r"made by version 9{5000}, and here is .*; update"):
        load_kit(folder)


def rename_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first exercise have been called ``attention1`` before."""

    def renamed() -> Kit:
        kit = installed_kit()
        first = replace(kit.exercises[0], formerly=("attention1",))
        return replace(kit, exercises=(first, *kit.exercises[1:]))

    monkeypatch.setattr("grader.kit.loading.installed_kit", renamed)


@pytest.mark.parametrize("name", ["attention1.py", "attention1.ipynb"])
def test_renaming_takes_no_file_that_lies_outside(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    outside = tmp_path / "outside" / name
    outside.parent.mkdir()
    outside.write_text("nobody's")
    (folder / "exercises/zz").symlink_to(outside.parent)
    (folder / "exercises/warmups/warmup1.py").unlink()
    edit_manifest(folder, "warmup1 =", "attention1 =")
    rename_first(monkeypatch)
    with pytest.raises(GradeError, match="leads out of"):
        update_folder(load_kit(folder))
    assert outside.read_text() == "nobody's"


def test_renamed_exercise_keeps_file_and_history(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_history(load_kit(folder)) as history:
        history.show_hints("attention1", 2)
    exercises = folder / "exercises/warmups"
    (exercises / "warmup1.py").rename(exercises / "attention1.py")
    (exercises / "attention1.py").write_text("my own work")
    edit_manifest(folder, "warmup1 =", "attention1 =")
    rename_first(monkeypatch)
    kit = load_kit(folder)
    with pytest.raises(GradeError, match="`attention1` is called `warmup1` now"):
        kit.find("attention1")
    assert update_folder(kit) == {"warmup1": "renamed"}
    assert (exercises / "warmup1.py").read_text() == "my own work"
    assert not (exercises / "attention1.py").exists()
    with open_history(load_kit(folder)) as history:
        assert history.hints("warmup1") == 2


def test_folder_edited_by_hand_says_what_to_do(folder: Path) -> None:
    edit_manifest(folder, r"\[kit\]", "[kit")
    with pytest.raises(GradeError, match=r"kit\.toml` is damaged: .*; restore it"):
        load_kit(folder)


def test_how_much_is_told_is_set_for_a_folder_and_kept(folder: Path) -> None:
    assert load_kit(folder).find("warmup1").explain is Explain.CAUSE
    edit_manifest(folder, r"\[kit\]\n", '[kit]\nexplain = "place"\n')
    update_folder(load_kit(folder))
    kit = load_kit(folder)
    assert kit.find("warmup1").explain is Explain.PLACE
    assert all(e.explain is Explain.NOTHING for e in kit.exercises if not e.diagnosis)
    edit_manifest(folder, 'explain = "place"', 'explain = "everything"')
    with pytest.raises(GradeError, match="is damaged"):
        load_kit(folder)


def test_only_a_learners_folder_is_updated(tmp_path: Path) -> None:
    with pytest.raises(GradeError, match="is not a folder of stubs"):
        update_folder(installed_kit())
    with pytest.raises(GradeError, match="is not a kit"):
        load_kit(tmp_path)


def test_half_made_folder_is_made_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    folder = tmp_path / "drills"
    with monkeypatch.context() as patched:
        patched.setattr("grader.practice.folder.shipped_stub", full)
        assert run_command(["init", str(folder)]) == 2
    assert "cannot be written: No space left" in capsys.readouterr().err
    assert run_command(["init", str(folder), "--update"]) == 0
    assert all(exercise.file.is_file() for exercise in load_kit(folder).exercises)
    (folder / "exercises/kit.toml").unlink()
    assert run_command(["init", str(folder)]) == 2
    assert "has no `kit.toml`; move it away first" in capsys.readouterr().err


def test_reset_that_cannot_write_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = load_kit(folder).find("warmup1")
    exercise.file.write_text("my own work")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(GradeError, match="No space left on device; nothing of yours is lost"):
        restore_stub(exercise, load_kit(folder))
    assert exercise.file.read_text() == "my own work"
