"""``grade EXERCISE --again``: what was lost last, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.kit import installed_kit, load_kit
from grader.practice.history import open_history
from tests.grader.cli.conftest import Grade
from tests.support.terminal import COMMAND

SOLUTION = installed_kit().find("warmup1").solution.read_text(encoding="utf-8")


@pytest.mark.slow("three gradings by the command")
def test_what_was_lost_is_tried_again_at_its_seed_and_not_recorded(grade: Grade) -> None:
    mine = Path("exercises/warmups/warmup1.py")
    mine.write_text(SOLUTION.replace("dim=-1", "dim=-2"), encoding="utf-8")
    assert grade("warmup1", "--seed", 3)[0] == 1
    code, out, _ = grade("warmup1", "--again")
    assert code == 1
    lost = int(out.splitlines()[-1].partition(" checks that had failed pass now  seed 3")[0][-1])
    assert f"0 of {lost} checks" in out
    mine.write_text(SOLUTION, encoding="utf-8")
    code, out, _ = grade("warmup1", "--again")
    assert code == 0
    assert out.count("  pass  ") == lost
    says, following = out.splitlines()[-2:]
    assert says == f"{lost} of {lost} checks that had failed pass now  seed 3"
    assert following == "next: `grade warmup1` tries all"
    with open_history(load_kit(Path())) as history:
        assert [one.solved for one in history.gradings("warmup1")] == [False]


@pytest.mark.slow("a command that imports torch")
@pytest.mark.usefixtures("grade")  # in its folder
def test_grading_is_recorded_though_nobody_reads_its_report() -> None:
    """As with `grade warmup1 | head -2`."""
    command = [sys.executable, *COMMAND, "warmup1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as one:
        assert one.stdout is not None
        one.stdout.close()
        one.wait(timeout=120)
    with open_history(load_kit(Path())) as history:
        assert [one.exercise for one in history.gradings()] == ["warmup1"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("warmup1", "--again"), "warmup1 was not graded yet: `grade warmup1` does"),
        (("warmup1", "other.py", "--again"), "what `other.py` lost is not kept"),
        (("warmup1", "--again", "--format", "json"), "no whole grading"),
    ],
)
def test_what_cannot_be_tried_again_is_one_line(
    grade: Grade, words: tuple[str, ...], says: str
) -> None:
    Path("other.py").write_text(SOLUTION, encoding="utf-8")
    code, out, err = grade(*words)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
