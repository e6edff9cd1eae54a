"""How far a grading is: what it tells, and the line in the terminal that says so."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.outputs import live_line
from grader.outputs.live_line import CLEAR_LINE
from grader.records.progress import Progress
from grader.sandbox.process import Sandbox
from grader.submission import Submission

EXERCISE = installed_kit().find("warmup1")
RIGHT = EXERCISE.solution.read_text(encoding="utf-8")


@pytest.mark.parametrize("source", [RIGHT, RIGHT.replace("dim=-1)", "dim=-2)")])
def test_a_grading_tells_how_far_it_is_and_what_is_wrong_first(
    sandbox: Sandbox, source: str
) -> None:
    told: list[Progress] = []
    grade(Submission(Path("one.py"), source), EXERCISE, Options(7, progress=told.append), sandbox)
    for unit in ("situations", "checks"):
        counts = [one.done for one in told if one.unit == unit]
        (total,) = {one.total for one in told if one.unit == unit}
        assert len(counts) > 3
        assert counts == sorted(counts)
        assert counts[-1] == total
    wrong = [one.wrong for one in told if one.unit == "situations"]
    assert (len(set(wrong)) == 1) == (source == RIGHT)
    assert source == RIGHT or "differ" in wrong[1]


def test_line_is_there_while_a_grading_takes_long_and_in_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_line, "DELAY_S", 0.0)
    monkeypatch.setattr(live_line, "INTERVAL_S", 0.01)
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", shown)
    with live_line.live_line("warmup1") as tell:
        assert tell is not None
        for unit, words in (
            ("situations", "trying situation 4 of 9 … 0 s"),
            ("checks", "check 4 of"),
        ):
            tell(Progress(unit, 3, 9))
            while f"warmup1: {words}" not in shown.getvalue():
                time.sleep(0.01)
    assert shown.getvalue().endswith(CLEAR_LINE)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with live_line.live_line("warmup1") as tell:
        assert tell is None
