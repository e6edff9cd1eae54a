"""What the benchmarks compare with does the same work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.busy import compare
from grader.kit import load_kit

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["warmup1", "exercise1", "exercise3"])
def test_plain_pytest_of_a_suite_passes_the_solution(name: str) -> None:
    exercise = load_kit(ROOT).find(name)
    pytest_of_it = [sys.executable, "-m", "pytest", "-q", "-p", "in_process", "-W", "ignore"]
    settings = ["-c", str(ROOT / "grader/suite/suite.ini")]
    done = subprocess.run(
        [*pytest_of_it, *settings, str(exercise.suite)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")]),
            "SUBMISSION": str(exercise.solution),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_what_differs_beside_busy_loops_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    runs = iter([{"a": "passed", "b": "passed"}, {"a": "passed", "b": "failure"}])
    assert compare("tests", lambda: next(runs)) == 1
    said = capsys.readouterr().out
    assert "  b: passed in quiet, then failure\ntests: 1 of 2 differ\n" in said
    again = iter([{"a": "passed"}] * 2)
    assert compare("tests", lambda: next(again)) == 0
