"""What follows from a known mistake is counted, and what does not stands by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from grader.grading import Options, grade
from grader.kit import load_kit
from grader.outputs.exercism import render_exercism
from grader.outputs.github import render_github
from grader.outputs.gradescope import render_gradescope
from grader.outputs.html import report_page
from grader.outputs.junit import render_junit
from grader.outputs.pytest_json import render_pytest_json
from grader.outputs.terminal import render_report
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.paths import ROOT
from tests.support.reading import text_of

pytestmark = pytest.mark.usefixtures("patient")
KIT = load_kit(ROOT)
EXERCISE = KIT.find("exercise5")
SAYS = "Your output is exactly what comes out when the scores are not scaled at all."
ADVICE = "Dot products grow with the head size"
WHY = "A model with a right output but wrong gradients learns nothing."


def source(*edits: tuple[str, str]) -> str:
    text = EXERCISE.solution.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


UNSCALED = source((" / sqrt(D)", ""))
UNSCALED_AND_IN_PLACE = source(
    (" / sqrt(D)", ""),
    ("        B, T, C = x.shape", "        x.mul_(1.0)\n        B, T, C = x.shape"),
)


def graded(text: str, sandbox: Sandbox, explain: Explain | None = None) -> Report:
    options = Options(seed=7, device="cpu", explain=explain)
    return grade(Submission(Path("exercise5.py"), text), EXERCISE, options, sandbox)


def shown(report: Report, **how: bool) -> str:
    console = Console(width=10_000)
    with console.capture() as capture:
        for part in render_report(report, **how):
            console.print(part)
    return capture.get()


@pytest.fixture(scope="module")
def unscaled(sandbox: Sandbox) -> Report:
    return graded(UNSCALED, sandbox)


def test_all_that_fails_by_the_mistake_follows_from_it(unscaled: Report) -> None:
    failed = tuple(check.name for check in unscaled.checks if check.verdict is Verdict.FAIL)
    assert unscaled.cause is not None
    assert unscaled.cause.follows == failed
    assert len(failed) == 5


def test_what_another_fault_breaks_does_not_follow(sandbox: Sandbox) -> None:
    report = graded(UNSCALED_AND_IN_PLACE, sandbox)
    assert report.diagnosis == (("never-scaled",),)
    assert report.cause is not None
    assert "test_scores_are_divided_by_the_root_of_the_head_size" in report.cause.follows
    assert "test_input_is_not_changed" not in report.cause.follows
    text = shown(report)
    assert text.index(SAYS) < text.index("`x` was changed in place by the call")


def test_what_another_fault_makes_wrong_is_not_said_to_be_right(sandbox: Sandbox) -> None:
    """Dropout that never rescales was told as all, beside a mask whose negative numbers hide."""
    exercise = KIT.find("exercise4")
    text = exercise.solution.read_text(encoding="utf-8")
    for old, new in (
        ("attention_mask == 0", "attention_mask <= 0"),
        ("(scores.softmax(dim=-1))", "(scores.softmax(dim=-1) * (1 - self.training * rate))"),
        ("weights = self", "rate = self.dropout.p\n        weights = self"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    report = grade(Submission(Path("mine.py"), text), exercise, Options(7, "cpu"), sandbox)
    assert report.diagnosis == (("dropout-not-rescaled",),)
    assert report.cause is not None
    assert report.cause.says.startswith("Where nothing else is wrong, your output is exactly")


def test_nothing_is_called_right_where_there_is_no_output(sandbox: Sandbox) -> None:
    exercise = KIT.find("exercise4")
    text = exercise.solution.read_text(encoding="utf-8")
    turned = text.replace("if attention_mask is not None:", "if attention_mask is None:")
    assert turned != text
    report = grade(Submission(Path("mine.py"), turned), exercise, Options(7, "cpu"), sandbox)
    assert report.diagnosis == (("mask-ignored",),)
    assert report.cause is not None
    assert report.cause.says.startswith("Where there is an output, it is exactly what comes out")
    assert any("the wrong way around" in check.explanation for check in report.checks)


def test_report_begins_with_the_cause_and_counts_what_follows(unscaled: Report) -> None:
    lines = shown(unscaled).splitlines()
    assert lines[1].strip() == SAYS
    assert lines[2].strip().startswith(ADVICE)
    assert lines[3].strip() == "more of it: `grade mistakes never-scaled`"
    follow = "fail    0/10  5 checks fail for this reason (--verbose lists them)"
    assert lines[4].strip() == follow
    assert "values differ" not in "\n".join(lines)
    assert WHY not in "\n".join(lines)


def test_verbose_lists_what_follows_without_its_advice(unscaled: Report) -> None:
    text = shown(unscaled, verbose=True)
    assert "output: 210 of 210 values differ" in text
    assert "gradients of all parameters are right" in text
    assert WHY not in text


def test_screen_of_watch_begins_with_the_score_and_the_cause(unscaled: Report) -> None:
    lines = shown(unscaled, brief=True).splitlines()
    assert lines[0].startswith("score 21 / 31")
    assert lines[1].strip() == SAYS


def test_page_tells_the_cause_above_all_checks(unscaled: Report) -> None:
    text = text_of(report_page([(unscaled, UNSCALED)]))
    assert text.count(SAYS) == 1
    assert text.index(SAYS) < text.index("5 checks fail for this reason") < text.index("differ")
    assert WHY not in text


def test_forms_of_single_checks_tell_the_cause_once(unscaled: Report) -> None:
    forms = {
        "github": render_github([unscaled]),
        "junit": render_junit([unscaled]),
        "pytest-json": render_pytest_json([unscaled]),
        "exercism": render_exercism(unscaled),
    }
    for name, text in forms.items():
        assert 1 <= text.count(SAYS) <= 2, name  # JUnit repeats a message's first line
        if name != "github":
            assert text.count("It follows from what is said about") == 4, name
    assert forms["github"].count("::error") == 1
    assert SAYS in render_gradescope([unscaled], {"exercise5": 1.0})


def test_cause_goes_through_json(unscaled: Report) -> None:
    assert Report.from_json(unscaled.to_json()) == unscaled


@pytest.mark.parametrize("explain", [Explain.NOTHING, Explain.QUESTION, Explain.PLACE])
def test_less_is_told_and_the_score_is_the_same(
    explain: Explain, unscaled: Report, sandbox: Sandbox
) -> None:
    report = graded(UNSCALED, sandbox, explain)
    assert [c.verdict for c in report.checks] == [c.verdict for c in unscaled.checks]
    assert (report.earned, report.possible) == (unscaled.earned, unscaled.possible)
    assert report.diagnosis == report.maps == ()
    text = shown(report) + report.to_json()
    assert "not scaled" not in text
    assert "never-scaled" not in text
    assert "output: 210 of 210 values differ" in text
    told = {
        Explain.QUESTION: "What is the variance of a dot product",
        Explain.PLACE: "The mistake is in the step `scale`.",
    }
    if explain in told:
        assert report.cause is not None
        assert report.cause.says.startswith(told[explain])
    else:
        assert report.cause is None
