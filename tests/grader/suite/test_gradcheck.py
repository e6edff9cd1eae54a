"""What a hand-written backward may get wrong beside its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.kit import load_kit
from grader.records import Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.paths import ROOT


@pytest.mark.parametrize("changed", ["{}.float()", "[[{}]]", "{}.to('meta')", "None"])
def test_output_of_another_form_is_no_fault_of_the_grader(changed: str, sandbox: Sandbox) -> None:
    exercise = load_kit(ROOT / "kits" / "training").find("layer_norm")
    right = exercise.solution.read_text(encoding="utf-8")
    wrong = f"{right}\nown = layer_norm\ndef layer_norm(*given):\n    return "
    wrong += changed.format("own(*given)")
    report = grade(Submission(Path("a.py"), wrong), exercise, Options(seed=1), sandbox)
    [check] = [one for one in report.checks if "derivative" in one.name]
    assert check.verdict is Verdict.FAIL, check
    assert check.message.startswith("output of inputs in float64: expected ")


def test_backward_that_gives_up_where_one_input_does_not_learn_fails(sandbox: Sandbox) -> None:
    exercise = load_kit(ROOT / "kits" / "training").find("rms_norm")
    right = exercise.solution.read_text(encoding="utf-8")
    begins = "        normed, scale, weight = ctx.saved_tensors\n"
    gives_up = "        if not ctx.needs_input_grad[0]:\n            return None, None\n"
    wrong = right.replace(begins, f"{gives_up}{begins}")
    assert wrong != right
    report = grade(Submission(Path("a.py"), wrong), exercise, Options(seed=1), sandbox)
    [check] = [one for one in report.checks if one.is_lost]
    assert check.name == "test_gradients_are_right"
    assert "with gradients of all inputs but the first" in check.message, check
