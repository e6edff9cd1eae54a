"""A mock interview: drawn, timed, without help, and never lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from grader.cli import run_command
from grader.errors import GradeError
from grader.kit import Kit, installed_kit, load_kit
from grader.kit.spoilers import has_twins, spoilers
from grader.practice import interview as interviews
from grader.practice.folder import make_folder
from grader.practice.handing_in import hand_in
from grader.practice.history import Event, open_history
from grader.records import CheckResult, Report, Verdict
from tests.support.terminal import COMMAND, Terminal

KIT = installed_kit()


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """An interview of warmup1, warmup2 and exercise4, and the working directory in it."""
    monkeypatch.setenv("NO_COLOR", "1")
    names = ["warmup1", "warmup2", "exercise4"]
    interviews.begin(tmp_path / "interview", KIT, minutes=45, names=names, seed=0)
    monkeypatch.chdir(tmp_path / "interview")
    return load_kit()


def solve(kit: Kit, name: str) -> None:
    exercise = kit.find(name)
    exercise.file.write_bytes(exercise.solution.read_bytes())


def test_draw_is_by_the_seed_and_nothing_gives_another_away() -> None:
    seen = set()
    for seed in range(12):
        names = interviews.draw_exercises(KIT, 3, seed)
        assert names == interviews.draw_exercises(KIT, 3, seed)
        assert len(set(names)) == 3
        assert not any(spoilers(KIT, [KIT.find(name) for name in names]))
        assert not has_twins([KIT.find(name) for name in names])
        assert any(KIT.find(name).track == "bugs" for name in names)
        seen.update(KIT.find(name).track for name in names)
    assert seen >= {"variants", "decoder", "bugs"}
    with pytest.raises(GradeError, match=f"{len(KIT.exercises)} exercises cannot be drawn"):
        interviews.draw_exercises(KIT, len(KIT.exercises), 0)


def test_draw_is_from_the_kit_in_use(tmp_path: Path) -> None:
    other = installed_kit("training")
    make_folder(tmp_path / "drills", other)
    assert interviews.kit_to_draw_from(load_kit(tmp_path / "drills")).home == other.home
    assert interviews.kit_to_draw_from(KIT).home == KIT.home
    with pytest.raises(GradeError, match="did not come with this package"):
        interviews.kit_to_draw_from(replace(KIT, name="of one's own"))


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_draw_is_by_level(level: str) -> None:
    for seed in range(5):
        names = interviews.draw_exercises(KIT, 3, seed, level)
        assert {KIT.find(name).level for name in names} == {level}
        assert any(KIT.find(name).track == "bugs" for name in names)


def test_near_twins() -> None:
    assert has_twins([KIT.find("exercise3"), KIT.find("exercise4")])
    assert has_twins([KIT.find("warmup2"), KIT.find("warmup3")])
    assert has_twins([KIT.find("exercise5"), KIT.find("decoder1")])
    assert not has_twins([KIT.find("exercise3"), KIT.find("exercise5")])
    assert not has_twins([KIT.find("decoder5"), KIT.find("decoder6")])


def test_what_was_solved_lately_is_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_folder(tmp_path / "drills", KIT)
    drills = load_kit(tmp_path / "drills")
    monkeypatch.chdir(drills.home)
    hard = [exercise.name for exercise in KIT.exercises if exercise.level == "hard"]
    assert run_command(["interview", "--exercises", "1", "--level", "hard", "--seed", "1"]) == 0
    capsys.readouterr()
    now = datetime.now(UTC)
    with open_history(drills) as history:
        for name, days in ((hard[0], 1), (hard[1], 30)):
            check = CheckResult("test_a", Verdict.PASS, 1)
            when = (now - timedelta(days=days)).isoformat(timespec="milliseconds")
            basics = (name, "x.py", "0", (check,), 1, "cpu", "full", when, 0.0, {})
            history.record(Report(*basics), "x", own=True)
    assert interviews.solved_lately(drills, now) == {hard[0]}
    for seed in range(8):
        assert hard[0] not in interviews.draw_exercises(KIT, 1, seed, "hard", {hard[0]})


@pytest.mark.slow("a terminal with a session that imports torch")
def test_reader_that_leaves_loses_no_record(begun: Kit) -> None:
    solve(begun, "warmup1")
    command = [sys.executable, *COMMAND, "interview", "submit", "--html", "page.html"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as one:
        assert one.stdout is not None
        one.stdout.close()
        one.wait(timeout=120)
    with open_history(load_kit()) as history:
        assert [grading.solved for grading in history.gradings()] == [True, False, False]
    assert not load_kit().interview
    assert Path("page.html").is_file()


@pytest.mark.parametrize(
    "words", [["warmup1"], ["hint", "warmup1"], ["watch"], ["review"], ["mistakes"]]
)
def test_no_help_before_it_is_handed_in(
    begun: Kit, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words) == 2
    assert "no checks, hints or solutions until `grade interview submit`" in capsys.readouterr().err
    assert run_command(["solution", "warmup1", "--reveal"]) == 2


@pytest.mark.slow("a terminal with a session that imports torch", always=True)
def test_report_says_right_wrong_time_and_what_to_practise(
    begun: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    solve(begun, "warmup1")
    wrong = begun.find("warmup2")
    text = wrong.solution.read_text(encoding="utf-8")
    wrong.file.write_text(text.replace("softmax(dim=-1)", "softmax(dim=-2)"), encoding="utf-8")
    started = interviews.read_record(begun.home).started
    for name, minutes in (("warmup1", 10), ("warmup2", 25)):
        at = (started + timedelta(minutes=minutes)).timestamp()
        os.utime(begun.find(name).file, (at, at))
    assert run_command(["interview", "submit", "--html", "report.html"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("1 of 3 solved, ")
    assert "warmup1  10 min  solved" in out
    assert "warmup2  15 min  not solved" in out
    assert "the softmax runs over the queries" in out
    assert "exercise4  never saved  not solved" in out
    practise = out.partition("to practise")[2]
    assert "`grade mistakes softmax-over-the-queries`" in practise
    assert "warmup2 again" in practise
    assert "exercise4 was not started" in practise
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    assert run_command(["interview", "submit"]) == 2
    assert "was handed in on 20" in capsys.readouterr().err
    assert run_command(["hint", "warmup2"]) == 0  # now a folder to practise in
    assert run_command(["list"]) == 0
    assert re.search(r"warmup1 +solved", capsys.readouterr().out)


@pytest.mark.slow("a terminal with a session that imports torch")
def test_submitting_is_interrupted_and_nothing_is_lost(
    begun: Kit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solve(begun, "warmup1")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("grader.practice.interview.close", stopped)
        assert run_command(["interview", "submit"]) == 130
    assert load_kit().interview
    assert run_command(["interview"]) == 0
    assert "resumed: seed 0" in capsys.readouterr().out
    assert run_command(["interview", "submit"]) == 1
    assert "1 of 3 solved" in capsys.readouterr().out
    with open_history(load_kit()) as history:
        assert len(history.gradings()) == 3  # each once


def test_file_that_cannot_be_read_costs_itself_alone(
    begun: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    solve(begun, "warmup1")
    begun.find("warmup2").file.unlink()
    begun.find("exercise4").file.write_bytes(b"\xff\xfe")
    assert run_command(["interview", "submit"]) == 1
    out = capsys.readouterr().out
    assert "1 of 3 solved" in out
    assert "no such file" in out
    assert "is not UTF-8" in out


def test_page_that_cannot_be_written_loses_no_report(
    begun: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["interview", "submit", "--html", "nowhere/report.html"]) == 2
    told = capsys.readouterr()
    assert "0 of 3 solved" in told.out
    assert "cannot be written" in told.err


def test_update_keeps_an_interview_as_it_is(begun: Kit) -> None:
    assert run_command(["init", ".", "--update"]) == 0
    kit = load_kit()
    assert kit.interview
    assert [exercise.name for exercise in kit.exercises] == ["warmup1", "warmup2", "exercise4"]
    assert run_command(["interview", "submit"]) == 1
    assert len(load_kit().exercises) == 3


def test_saves_share_out_the_time_and_late_ones_are_told(begun: Kit) -> None:
    record = interviews.read_record(begun.home)
    started = datetime.now(UTC) - timedelta(minutes=60)
    interviews.write_record(begun.home, msgspec.structs.replace(record, started=started))
    with open_history(begun) as history:
        for name, minutes in (("warmup1", 5), ("exercise4", 20), ("warmup1", 22)):
            history.record_event(name, Event.SAVED, started + timedelta(minutes=minutes))
    file = begun.find("exercise4").file
    late = (started + timedelta(minutes=52)).timestamp()
    os.utime(file, (late, late))
    for name in ("warmup1", "warmup2"):
        early = (started - timedelta(minutes=1)).timestamp()
        os.utime(begun.find(name).file, (early, early))
    taken, lateness = interviews.time_spent(begun, interviews.read_record(begun.home))
    assert taken["warmup1"] == pytest.approx(5 + 2, abs=0.01)
    assert taken["exercise4"] == pytest.approx(15 + 30, abs=0.01)
    assert lateness["exercise4"] == pytest.approx(52 - 45, abs=0.01)
    assert taken["warmup2"] is None


RECORD = '{"started": "%s", "minutes": %s, "seed": 1, "exercises": [], "submitted": "%s"}'
SOME_TIME = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "record",
    [
        "{",
        '{"exercises": ["\xff"]}',
        '{"a": ' + "[" * 100_000,
        RECORD % (SOME_TIME, "1e300", SOME_TIME),  # was a fault of the grader, as were those below
        RECORD % ("2026-01-01T00:00:00", 45, SOME_TIME),
        RECORD % ("9999-12-31T23:59:59Z", 45, SOME_TIME),
    ],
)
def test_damaged_record_is_one_clear_line(record: str, begun: Kit) -> None:
    (begun.home / interviews.RECORD_PATH).write_text(record, encoding="latin-1")
    why = "larger than .* KiB" if len(record) > interviews.MAX_RECORD_BYTES else "damaged: .*"
    with pytest.raises(GradeError, match=f"is {why}; your files are untouched"):
        interviews.read_record(begun.home)


@pytest.mark.parametrize("endless", ["/dev/zero", "fifo"])
def test_record_without_an_end_is_one_clear_line(begun: Kit, endless: str) -> None:
    record = begun.home / interviews.RECORD_PATH
    record.unlink()
    if endless == "fifo":
        os.mkfifo(record)
    else:
        record.symlink_to(endless)
    with pytest.raises(GradeError, match="there is no interview here"):
        interviews.read_record(begun.home)


def test_record_is_written_through_no_link(begun: Kit) -> None:
    """A stranger's folder chooses names of exercises, which a shell would run from its settings."""
    settings = begun.home / "bashrc"
    settings.write_text("mine")
    (begun.home / interviews.RECORD_PATH).with_suffix(".draft").symlink_to(settings)
    interviews.close(begun, interviews.read_record(begun.home), datetime.now(UTC))
    assert settings.read_text() == "mine"
    assert interviews.read_record(begun.home).submitted is not None


def test_link_out_of_the_folder_is_not_handed_in(begun: Kit, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("TOKEN")
    mine = begun.find("warmup1").file
    mine.unlink()
    mine.symlink_to(secret)
    circle = begun.exercises[-1].file
    circle.unlink()
    circle.symlink_to(circle)
    (_, linked), *others, (_, circular) = hand_in(begun).submissions
    assert "cannot be read: too many levels" in circular.problem
    assert linked.source == ""
    assert "is a link that leads out of" in linked.problem
    assert not any(one.problem for _, one in others)


@pytest.mark.slow("a terminal with a session that imports torch")
def test_clock_is_left_and_taken_up_again_and_hands_in_by_itself(tmp_path: Path) -> None:
    with Terminal(tmp_path, "interview", "--seed", "0", "--minutes", "60") as terminal:
        terminal.until("begun: seed 0", "59:", " left")
        terminal.child.sendintr()
        terminal.child.expect("the clock keeps running")
        assert terminal.left() == 0
    (folder,) = tmp_path.glob("interview-*")
    leave(folder, timedelta(seconds=20))
    kit = load_kit(folder)
    name = kit.exercises[0].name
    with Terminal(folder, "interview", rows=200) as terminal:
        terminal.until("resumed: seed 0", "00:", " left")
        solve(kit, name)
        deadline = time.monotonic() + 300
        while not saved(kit) and time.monotonic() < deadline:
            time.sleep(0.1)
        record = interviews.read_record(folder)
        assert saved(kit) == [name]
        terminal.until("time is up", "1 of 3 solved", "to practise")
    assert interviews.read_record(folder) == msgspec.structs.replace(
        record, submitted=interviews.read_record(folder).submitted
    )
    assert not load_kit(folder).interview


def leave(folder: Path, left: timedelta) -> None:
    """Begin an interview so long ago that this much time is left."""
    record = interviews.read_record(folder)
    started = datetime.now(UTC) + left - timedelta(minutes=record.minutes)
    changed = msgspec.structs.replace(record, started=started)
    (folder / interviews.RECORD_PATH).write_bytes(msgspec.json.encode(changed))


def saved(kit: Kit) -> list[str]:
    with open_history(kit) as history:
        return list(dict.fromkeys(name for name, kind, _ in history.events() if kind == "saved"))
