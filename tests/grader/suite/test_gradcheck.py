"""What a hand-written backward may get wrong beside its numbers."""

from __future__ import annotations

from pathlib import Path

from grader.grading import Options, grade
from grader.kit import load_kit
from grader.records import Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.paths import ROOT


def test_output_in_another_dtype_fails_and_is_no_fault_of_the_grader(sandbox: Sandbox) -> None:
    exercise = load_kit(ROOT / "kits" / "training").find("layer_norm")
    right = exercise.solution.read_text(encoding="utf-8")
    wrong = right.replace("normed * weight + bias\n", "(normed * weight + bias).float()\n")
    assert wrong != right
    report = grade(Submission(Path("a.py"), wrong), exercise, Options(seed=1), sandbox)
    [check] = [one for one in report.checks if "derivative" in one.name]
    assert check.verdict is Verdict.FAIL, check
    assert check.message.startswith("output of inputs in float64: expected dtype float64, got")
