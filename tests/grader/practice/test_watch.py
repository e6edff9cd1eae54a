"""`grade watch` in a real terminal: saves, keys, and whatever a learner's file may do."""

from __future__ import annotations

import os
import pty
import queue
import signal
import sqlite3
import subprocess
import sys
import tty
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli.again import is_own
from grader.kit import installed_kit, load_kit
from grader.kit.stubs import digest
from grader.practice.file_watcher import watch_files
from grader.practice.folder import make_folder
from grader.practice.history import open_history
from grader.practice.interview import note_save
from grader.practice.keyboard import watch_keys
from grader.submission import Submission
from tests.support.terminal import COMMAND, Terminal

KIT = installed_kit()
NAMES = [exercise.name for exercise in KIT.exercises]
COUNT = len(NAMES)
RIGHT = KIT.find("warmup1").solution.read_text(encoding="utf-8")
WRONG = RIGHT.replace("dim=-1)", "dim=-2)")
LOOP = "def self_attention(x):\n    while True:\n        pass\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_folder(tmp_path, KIT)
    return tmp_path


@pytest.fixture
def mine(folder: Path) -> Path:
    return folder / "exercises/warmups/warmup1.py"


def test_a_strangers_links_are_not_followed(
    folder: Path, mine: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kit, saved = load_kit(folder), queue.SimpleQueue[Path]()
    outside = tmp_path_factory.mktemp("outside")
    (mine.parent / "machine").symlink_to(outside)
    circle = mine.with_name("warmup0.py")
    circle.symlink_to(circle)
    with watch_files(kit, saved.put):
        (outside / "work.py").write_text(RIGHT)
        mine.write_text(RIGHT)
        assert saved.get(timeout=60) == mine.resolve()
    circular = replace(kit, exercises=(replace(kit.exercises[0], file=circle), *kit.exercises))
    note_save(circular, mine.resolve())
    assert not is_own(circular.exercises[0], Submission(mine, RIGHT))
    assert is_own(kit.exercises[0], Submission(mine, RIGHT))


@pytest.mark.slow("a terminal with a session that imports torch", always=True)
def test_saves_are_graded_until_it_is_solved(folder: Path, mine: Path) -> None:
    with Terminal(folder, "watch", rows=80) as terminal:  # a whole report
        terminal.until("warmup1: Attention without weights", f"0 of {COUNT} solved", "q quit")
        mine.write_text("def self_attention(x:\n")
        screen = terminal.until("exercises/warmups/warmup1.py:1: does not parse")
        assert len([line for line in screen.splitlines() if "parse" in line]) == 1
        mine.write_text(WRONG)
        screen = terminal.until("the softmax runs over the queries", "score ", "pass ")
        assert screen.index("fail ") < screen.index("pass ")
        assert "checks fail for this reason (v lists them)" in screen
        terminal.press("v")
        terminal.until("0/3  output matches the formula")
        terminal.press("m")  # that it is solved is noticed with maps as well
        terminal.until("attention without a mask")
        mine.write_text(RIGHT)
        terminal.until(
            "warmup1 is solved, 20 / 20: Enter goes on to warmup2", f"1 of {COUNT} solved"
        )
        terminal.until("warmup1: Attention without weights", "score 20 / 20")  # its report first
        terminal.press("s")
        terminal.until("def self_attention(x: Tensor) -> Tensor:")
        terminal.press("\r")
        terminal.until("warmup2: ")
        for key in "s\r":  # another's solution is not this one's
            terminal.press(key)
            terminal.until("warmup2 is not solved yet; h gives a hint")
        terminal.press("q")
        assert terminal.left() == 0
    with open_history(load_kit(folder)) as history:
        assert [grading.solved for grading in history.gradings("warmup1")] == [False, False, True]


@pytest.mark.slow("a terminal with a session that imports torch")
def test_endless_loop_is_stopped_by_the_next_save_or_the_end(folder: Path, mine: Path) -> None:
    with Terminal(folder, "watch", "warmup1") as terminal:
        terminal.until("edit exercises/warmups/warmup1.py")
        mine.write_text(LOOP)
        terminal.until("another save stops it")
        terminal.press("h")  # the keys are alive meanwhile
        terminal.until("hint 1: ")
        mine.write_text(RIGHT)
        terminal.until("warmup1 is solved")
        mine.write_text(LOOP)
        terminal.until("another save stops it")
        terminal.press("q")
        assert terminal.left() == 0
    with open_history(load_kit(folder)) as history:
        (only,) = history.gradings("warmup1")
    assert only.digest == digest(RIGHT.encode())  # the loops were given up, not judged
    assert only.hints == 1


@pytest.mark.slow("a terminal with a session that imports torch")
def test_keys(folder: Path, mine: Path) -> None:
    with Terminal(folder, "watch", rows=40) as terminal:
        terminal.until("warmup1: ")
        terminal.press("n")
        terminal.until("warmup2: ")
        terminal.press("\x1b[D")
        terminal.until("warmup1: ")
        terminal.press("s")
        terminal.until("warmup1 is not solved yet; h gives a hint")
        terminal.press("l")
        terminal.until("exercise6", "Transformer block")
        terminal.press("l")
        terminal.until("edit exercises/warmups/warmup1.py")
        mine.write_text(RIGHT.replace("softmax(dim=-1)", "softmax(dim=-1) * 1"))
        terminal.until("warmup1 is solved", "score 20 / 20")
        terminal.press("m")
        terminal.until("attention without a mask")
        terminal.press("r")
        terminal.until("r once more puts the stub of warmup1 back")
        terminal.press("x")
        terminal.press("r")
        terminal.until("r once more")
        terminal.press("r")
        terminal.until("still a stub")
        assert "raise NotImplementedError" in mine.read_text()
        assert "* 1" in next((folder / ".grade/replaced").iterdir()).read_text()
        terminal.press("?\x1b[Aé")
        terminal.press("q")
        assert terminal.left() == 0


def test_enter_is_understood_where_the_terminal_sends_a_carriage_return() -> None:
    terminal, keyboard = pty.openpty()
    tty.setraw(keyboard)  # ICRNL is off, as after setcbreak of Python 3.12.1
    told: queue.Queue[str] = queue.Queue()
    with os.fdopen(keyboard) as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", stdin)
        patch.setattr(tty, "setcbreak", lambda *_: None)
        with watch_keys(told.put, lambda: None):
            os.write(terminal, b"j\r\n")
            assert [told.get(timeout=300) for _ in range(3)] == ["j", "\n", "\n"]
    os.close(terminal)


def test_signal_that_another_thread_takes_is_heard() -> None:
    _, keyboard = pty.openpty()
    drawn: queue.SimpleQueue[bool] = queue.SimpleQueue()
    with os.fdopen(keyboard) as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", stdin)
        with watch_keys(lambda _: None, lambda: drawn.put(True)):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
            os.kill(os.getpid(), signal.SIGWINCH)
            assert drawn.get(timeout=60)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGWINCH})


@pytest.mark.slow("a terminal with a session that imports torch")
def test_resized_terminal_keeps_its_keys_in_sight(folder: Path, mine: Path) -> None:
    mine.write_text(WRONG)
    with Terminal(folder, "watch", "warmup1") as terminal:
        terminal.until("score ", "q quit")
        terminal.resize(12, 60)
        screen = terminal.until("more lines: ↓ or space", "quit")
        assert len(screen.splitlines()) <= 12
        terminal.resize(60, 130)
        terminal.until("attention without a mask", "q quit")
        terminal.press("q")
        assert terminal.left() == 0


@pytest.mark.slow("a terminal with a session that imports torch")
def test_hint_and_map_are_seen_beside_a_long_report(folder: Path, mine: Path) -> None:
    mine.write_text(WRONG)
    with Terminal(folder, "watch", "warmup1", rows=15) as terminal:
        terminal.until("score ", "more lines")
        terminal.press("h")
        terminal.until("hint 1: ", "more lines", "q quit")
        terminal.press("m")
        terminal.until("attention without a mask", "yours", "q quit")


@pytest.mark.slow("a terminal with a session that imports torch")
def test_key_sets_how_much_is_told(folder: Path, mine: Path) -> None:
    mine.write_text(WRONG)
    manifest = folder / "exercises" / "kit.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("[kit]\n", '[kit]\nexplain = "question"\n'))
    with Terminal(folder, "watch", "warmup1") as terminal:
        text = terminal.until("score ", "q quit")
        assert "exactly what comes out" not in text
        assert "The mistake is in " not in text
        terminal.press("e")
        terminal.until("The mistake is in ")
        terminal.press("e")
        terminal.until("exactly what comes out")
        terminal.press("q")
        assert terminal.left() == 0


@pytest.mark.slow("a terminal with a session that imports torch")
def test_editor_replaces_the_file_and_a_lost_sandbox_is_started_again(
    folder: Path, mine: Path
) -> None:
    with Terminal(folder, "watch", "warmup1") as terminal:
        terminal.until("edit exercises/warmups/warmup1.py")
        other = mine.with_name(".warmup1.py.swp")
        other.write_text(WRONG)
        other.replace(mine)
        terminal.until("score ", "the softmax runs over the queries")
        children = Path(f"/proc/{terminal.child.pid}/task/{terminal.child.pid}/children")
        for pid in children.read_text().split():
            if b"grader.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)
        mine.write_text(RIGHT)
        terminal.until("warmup1 is solved")


@pytest.mark.slow("a terminal with a session that imports torch")
def test_file_or_history_that_cannot_be_used_is_said_and_the_watch_goes_on(
    folder: Path, mine: Path
) -> None:
    with Terminal(folder, "watch", "warmup1") as terminal:
        terminal.until("warmup1: ")
        mine.unlink()
        terminal.until("`exercises/warmups/warmup1.py` cannot be read: no such file")
        terminal.press("rr")
        terminal.until("still a stub")
        assert mine.is_file()
        file = folder / "exercises/variants/exercise1.py"
        file.write_text(file.read_text() + "\n# begun\n")
        terminal.until("exercise1: ", "still a stub")
        with closing(sqlite3.connect(folder / ".grade/history.sqlite")) as connection, connection:
            connection.execute("PRAGMA user_version = 99")
        terminal.press("h")
        terminal.until("from a newer version")
        mine.write_text(RIGHT)
        terminal.until("not recorded: ")


@pytest.mark.slow("a terminal with a session that imports torch")
def test_without_colour(folder: Path, mine: Path) -> None:
    mine.write_text(WRONG)
    with Terminal(folder, "watch", "warmup1", "--no-color") as terminal:
        terminal.child.expect("score .*")
        assert b"\x1b[1m" not in terminal.child.before
        assert b"\x1b[3" not in terminal.child.before


def _waited_for(pid: int) -> bool:
    """Whether a child has come to a stop, as a shell waits for it."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    return os.WIFSTOPPED(status)


def test_ctrl_z_and_back(folder: Path) -> None:
    with Terminal(folder, "watch") as terminal:
        terminal.until("q quit")
        os.kill(terminal.child.pid, signal.SIGTSTP)
        assert _waited_for(terminal.child.pid)
        terminal.screen.reset()
        os.kill(terminal.child.pid, signal.SIGCONT)
        terminal.until("q quit")  # drawn anew: a key pressed before waits for the end of a line
        terminal.press("n")
        terminal.until("warmup2: ")


@pytest.mark.slow("a terminal with a session that imports torch")
def test_report_is_scrolled(folder: Path, mine: Path) -> None:
    mine.write_text(WRONG)
    with Terminal(folder, "watch", "warmup1", rows=16) as terminal:
        terminal.until("warmup1: Attention", "more lines: ↓ or space", "q quit")
        terminal.press("\x1b[B\x1b[B")
        assert "warmup1: Attention" not in terminal.until("2 above: ↑ or b", "q quit")
        terminal.press("k")
        terminal.until("1 above: ↑ or b")
        for _ in range(12):
            terminal.press(" ")
        screen = terminal.until("0.03", "above: ↑ or b")  # the legend, at the very end
        assert "more lines" not in screen
        for _ in range(12):
            terminal.press("b")
        terminal.until("warmup1: Attention", "more lines: ↓ or space")
        terminal.press("q")
        assert terminal.left() == 0


@pytest.mark.slow("a terminal with a session that imports torch")
def test_exercise_is_picked_from_the_list(folder: Path) -> None:
    with Terminal(folder, "watch", rows=16) as terminal:
        terminal.until("warmup1: ")
        terminal.press("l")
        terminal.until("> warmup1")
        terminal.press("j\x1b[B")
        terminal.until("> warmup3")
        for _ in NAMES[NAMES.index("warmup3") : NAMES.index("bug12")]:
            terminal.press("j")
        terminal.until("> bug12")
        terminal.press("\r")
        terminal.until("bug12: Neighbours that swap their words")


def test_keys_are_listed_and_others_told(folder: Path) -> None:
    with Terminal(folder, "watch", rows=24) as terminal:
        terminal.until("warmup1: ", "? help")
        terminal.press("?")
        terminal.until("puts the stub back; yours is kept")
        terminal.press("?")
        terminal.until("warmup1: ")
        terminal.press("x")
        terminal.until("`x` is not a key here; ? lists the keys")
        terminal.press("\x1b[F")
        terminal.until("that is not a key here")


def test_without_a_terminal_it_says_so_and_ends(folder: Path) -> None:
    command, none = [sys.executable, *COMMAND, "watch"], subprocess.DEVNULL
    done = subprocess.run(command, cwd=folder, stdin=none, capture_output=True, timeout=300)
    assert done.returncode == 2
    assert b"standard input is not a terminal" in done.stderr


@pytest.mark.slow("a terminal with a session that imports torch")
def test_pipe_gets_one_report_after_the_other(folder: Path, mine: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, *COMMAND, "watch", "warmup1"],
        cwd=folder,
        stdin=theirs,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        seen = ""
        for text, wanted in ((WRONG, "fail "), (RIGHT, "warmup2: ")):
            while "edit exercises" not in seen:
                seen += process.stdout.readline()
            mine.write_text(text)
            while wanted not in seen:
                seen += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=300) == 130
    os.close(ours)
    os.close(theirs)
    assert "\x1b" not in seen + rest
    assert "q quit" not in seen + rest


@pytest.mark.slow("a terminal with a session that imports torch")
def test_newcomers_path(tmp_path: Path) -> None:
    """From nothing to the first two solved exercises, by what each command says to do next."""

    def grade(*words: str, folder: Path = tmp_path / "drills") -> str:
        command = [sys.executable, *COMMAND, *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    drills = tmp_path / "drills"
    assert "next: cd drills" in grade("init", "drills", folder=tmp_path)
    assert grade("next").startswith("warmup1: Attention without weights\n  new\n")
    with Terminal(drills, "watch") as terminal:
        terminal.until("edit exercises/warmups/warmup1.py")
        first = drills / "exercises/warmups/warmup1.py"
        first.write_text(first.read_text().replace("raise NotImplementedError", "return x @"))
        terminal.until("warmup1.py:", "does not parse")
        first.write_text(WRONG)
        terminal.until("the softmax runs over the queries")
        first.write_text(RIGHT)
        terminal.until("warmup1 is solved")
        terminal.press("n")
        terminal.until("warmup2: ")
        terminal.press("q")
        assert terminal.left() == 0
    assert grade("next").startswith("warmup2: ")
    second = drills / "exercises/warmups/warmup2.py"
    second.write_bytes(KIT.find("warmup2").solution.read_bytes())
    assert "`grade next` for the next exercise" in grade("warmup2")
    assert grade("next").startswith("warmup3: ")
    assert "later: 2" in grade("review")
    shown = grade("progress", "--html", "progress.html")
    assert shown.startswith(f"2 of {COUNT} exercises solved, 4 gradings")
    assert "warmup1" in (drills / "progress.html").read_text(encoding="utf-8")
