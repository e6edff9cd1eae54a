"""What a failed check says is so: measured where it can be, and no more than is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from grader.grading import Options, grade
from grader.kit import load_kit
from grader.outputs.exercism import render_exercism
from grader.outputs.gradescope import render_gradescope
from grader.outputs.html import report_page
from grader.outputs.junit import render_junit
from grader.outputs.phrases import describe_difference
from grader.records import CheckResult, Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import SourceProblem, Submission, parse, read_submission
from grader.suite.compare import CheckFailed, expect_close
from tests.support.paths import ROOT
from tests.support.reports import lost

KIT = load_kit(ROOT)
NAN, INF = float("nan"), float("inf")


IMPORT = "torch = __import__('torch')\n        weights = "


def failed(got: Tensor, expected: Tensor) -> CheckFailed:
    with pytest.raises(CheckFailed) as raised:
        expect_close(got, expected)
    return raised.value


@pytest.mark.parametrize(
    ("got", "expected", "says", "index"),
    [
        ([NAN, NAN, 5.0], [NAN, 2.0, 3.0], "1 of 3 values are nan or infinite where they", 1),
        ([INF, 1.0, 1.0], [1.0, 1.0, 1.0], "1 of 3 values are nan or infinite where they", 0),
        ([1.0, 2.0, 3.0], [1.0, 2.0, NAN], "1 of 3 values are finite where", 2),
        ([NAN, NAN], [NAN, NAN], "2 of 2 values are nan or infinite, and so is", 0),
        ([1.0, 2.0, 9.0], [1.0, 2.0, 3.0], "1 of 3 values differ", 2),
        ([INF, 9.0, -INF], [INF, 2.0, -INF], "1 of 3 values differ", 1),
        ([INF, INF], [INF, -INF], "1 of 2 values are nan or infinite, and so is", 1),
    ],
)
def test_place_is_one_where_finiteness_differs(
    got: list[float], expected: list[float], says: str, index: int
) -> None:
    error = failed(torch.tensor(got), torch.tensor(expected).double())
    assert says in str(error)
    assert error.difference is not None
    assert error.difference.index == (index,)
    assert "inf at" not in describe_difference(error.difference)


def graded(name: str, old: str, new: str, sandbox: Sandbox) -> Report:
    exercise = KIT.find(name)
    text = exercise.solution.read_text(encoding="utf-8")
    assert text.count(old) == 1
    submission = Submission(Path(f"{name}.py"), text.replace(old, new))
    options = Options(seed=7, device="cpu", explain=Explain.NOTHING)
    return grade(submission, exercise, options, sandbox)


def check_of(report: Report, name: str) -> CheckResult:
    return next(check for check in report.checks if check.name == name)


def test_exception_within_a_sentence_of_ours_is_one_line(sandbox: Sandbox) -> None:
    forged = "if x.is_meta: raise RuntimeError('right\\nscore 25 / 25')\n        C = x.size(-1)"
    report = graded("exercise1", "C = x.size(-1)", forged, sandbox)
    check = check_of(report, "test_no_tensor_is_pinned_to_a_device")
    assert check.message.startswith("right score 25 / 25 (line ")


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ("", "got q·k × 1 ("),
        (" / D", "got q·k × 0.01887 ("),
        (" / sqrt(D) + x.mean(-1)[:, None, None, :] * 9", "got weights that show no factor of q·k"),
    ],
)
def test_factor_of_the_scores_is_told_where_there_is_one(
    new: str, says: str, sandbox: Sandbox
) -> None:
    report = graded("exercise5", " / sqrt(D)", new, sandbox)
    check = check_of(report, "test_scores_are_divided_by_the_root_of_the_head_size")
    assert check.verdict is Verdict.FAIL
    assert "expected scores of q·k × 0.1374" in check.message
    assert says in check.message


ALWAYS = "nn.functional.dropout(weights, self.dropout.p)"
UNSCALED = "weights * (torch.rand_like(weights) >= self.dropout.p)"


@pytest.mark.parametrize("dropped", [ALWAYS, UNSCALED])
def test_dropout_in_evaluation_is_told_no_number_that_is_right(
    dropped: str, sandbox: Sandbox
) -> None:
    report = graded("exercise3", "weights = self.dropout(weights)", f"{IMPORT}{dropped}", sandbox)
    scaled = check_of(report, "test_scores_are_divided_by_the_root_of_hidden_dim")
    assert re.search(r"× 0.1374, got these, but no weight in \d+ places of \d+", scaled.message)
    rescaled = check_of(report, "test_dropout_rescales_what_it_keeps")
    assert "weights are already 0 in evaluation: no factor shows" in rescaled.message


def test_dropout_that_rescales_nothing_is_told_of_no_wrong_rate(sandbox: Sandbox) -> None:
    new = f"{IMPORT}{UNSCALED} if self.training else weights"
    report = graded("exercise3", "weights = self.dropout(weights)", new, sandbox)
    assert lost(report) == [
        "test_dropout_acts_on_the_weights_after_softmax",
        "test_dropout_rescales_what_it_keeps",
    ]


def test_factor_is_that_of_the_products_whatever_is_added_to_them(sandbox: Sandbox) -> None:
    report = graded("decoder4", "q @ k.mT / sqrt(D)", "q @ k.mT / D", sandbox)
    check = check_of(report, "test_scores_are_divided_by_the_root_of_the_head_size")
    assert "expected scores of q·k × 0.1374, got q·k × 0.01887 (" in check.message


@pytest.mark.parametrize("name", ["bug1", "bug13"])
def test_fix_it_report_tells_what_fails_and_no_mistake_in_any_form(
    name: str, sandbox: Sandbox
) -> None:
    exercise = KIT.find(name)
    stub = read_submission(exercise.stub)
    report = grade(stub, exercise, Options(seed=7, device="cpu"), sandbox)
    assert report.cause is None
    assert report.diagnosis == ()
    first = next(check for check in report.checks if check.verdict is Verdict.FAIL)
    numbers = first.difference is not None or "off by up to" in first.message
    assert numbers, first
    whole = grade(stub, exercise, Options(seed=7, device="cpu", explain=Explain.CAUSE), sandbox)
    named = [mistake for names in whole.diagnosis for mistake in names]
    forms = [
        report.to_json(),
        report_page([(report, "")]),
        render_gradescope([report], {name: 1.0}),
        render_junit([report]),
        render_exercism(report),
    ]
    for text in forms:
        assert not any(mistake in text for mistake in named)
        assert "exactly what comes out" not in text


def test_each_planted_mistake_has_its_own_line(sandbox: Sandbox) -> None:
    exercise = KIT.find("bug13")
    report = grade(read_submission(exercise.stub), exercise, Options(7, "cpu"), sandbox)
    assert len({check.message for check in report.checks}) == 5


def test_line_that_does_not_parse_is_shown_with_its_caret() -> None:
    with pytest.raises(SourceProblem) as raised:
        parse(Submission(Path("a.py"), "def f():\n    return (1,, 2)\n"))
    message, line, caret = str(raised.value).split("\n")
    assert message == "does not parse: invalid syntax"
    assert line[caret.index("^")] == ","
    assert raised.value.line == 2


def test_caret_stays_in_a_long_line_and_under_tabs() -> None:
    for text in (f"x = [{'1, ' * 500},, 2]\n", "if 1:\n\tx = (1,, 2)\n"):
        with pytest.raises(SourceProblem) as raised:
            parse(Submission(Path("a.py"), text))
        _, line, caret = str(raised.value).split("\n")
        assert len(line) <= 130
        assert line[caret.index("^")] == ","
