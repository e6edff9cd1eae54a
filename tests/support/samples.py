"""Reports and progress to be shown: real ones, ones with everything, hostile ones."""

from __future__ import annotations

import dataclasses
import itertools
import math
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from grader.grading import Options, grade
from grader.kit import Kit, installed_kit
from grader.outputs.html import report_fragment, report_page
from grader.outputs.progress_page import progress_page
from grader.records import AttentionMap, CheckResult, Fault, Frame, Grading, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission

# Ends a style, an attribute, a tag, a comment; runs a script by three roads; hides and reorders.
NASTY = (
    "</style></title></textarea>--><script>window.pwned = 1</script>"
    '<img src="http://127.0.0.1:9/x" onerror="window.pwned = 1">"\'><svg/onload=window.pwned=1>'
    '<a href="javascript:window.pwned = 1">`{{ 7 * 7 }}{% raise %}`</a>'
    "\x1b[31mred\x1b]0;title\x07\u202edrowssap\u2066\u200b\x00"
)


def graded(kit: Kit, sandbox: Sandbox, source: str) -> tuple[Report, str]:
    submission = Submission(Path("double.py"), source)
    return grade(submission, kit.find("double"), Options(seed=1, device="cpu"), sandbox), source


def real_mistake(sandbox: Sandbox) -> tuple[Report, str]:
    """A real exercise with a real mistake, its diagnosis and its maps."""
    exercise = installed_kit().find("exercise5")
    source = read_submission(exercise.solution).source
    assert source.count("sqrt(D)") == 1
    submission = Submission(Path("exercises/mine.py"), source.replace("sqrt(D)", "sqrt(C)"))
    report = grade(submission, exercise, Options(seed=7, device="cpu"), sandbox)
    assert report.maps
    assert report.diagnosis
    return report, submission.source


def made_report(*checks: CheckResult, **fields: Any) -> Report:
    basics = Report(
        *("double", "double.py", "0" * 64, checks, 1, "cpu", "full"),
        *("2026-01-02T03:04:05+00:00", 0.25, {"torch": "2.9"}),
    )
    return replace(basics, **fields)


def every_verdict() -> tuple[Report, str]:
    fault = Fault("KeyError", "3", (Frame("double.py", 2, "double", "return {}[3]"),))
    checks = (
        CheckResult("test_passes", Verdict.PASS, 2, "Why it matters.", output="a\nb"),
        CheckResult("test_skips", Verdict.SKIP, 1, message="needs a GPU"),
        CheckResult("test_todo", Verdict.TODO, 1, message="NotImplementedError: later"),
        CheckResult("test_fails", Verdict.FAIL, 3, message="expected `2`, got `3`"),
        CheckResult("test_raises", Verdict.ERROR, 1, message="KeyError: 3", fault=fault),
        CheckResult("test_hangs", Verdict.TIMEOUT, 1, message="the submission took over 10 s"),
    )
    ramp = ((0.1, 0.9), (math.nan, 1.5))
    shown = AttentionMap("head 1", ramp, ((0.5, 0.5), (0.2, 0.8)))
    return made_report(*checks, maps=(shown,)), "def double(x):\n    return {}[3]\n"


def filled(kind: Any, draw: Callable[[Any], Any]) -> Any:
    """A record with each of its fields drawn, however deep."""
    if dataclasses.is_dataclass(kind):
        types_of = typing.get_type_hints(kind)
        return kind(**{f.name: filled(types_of[f.name], draw) for f in dataclasses.fields(kind)})
    parts = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return filled(parts[0], draw)
    if typing.get_origin(kind) is tuple:
        return (filled(parts[0], draw),)
    if typing.get_origin(kind) is dict:
        return {filled(parts[0], draw): filled(parts[1], draw)}
    return draw(kind)


def one_of_all(words: Iterator[str], verdict: Verdict) -> Report:
    """A report with another word or number in every field."""
    numbers = itertools.count(601)
    drawn = {
        str: lambda: next(words),
        int: lambda: next(numbers),
        float: lambda: float(next(numbers)),
        Verdict: lambda: verdict,
    }
    return filled(Report, lambda kind: drawn[kind]())


def long_words() -> Report:
    """Every text is one word that fits no screen."""
    report = one_of_all(itertools.repeat("word" * 100), Verdict.ERROR)
    return replace(report, problem="")


def hostile_report() -> Report:
    return one_of_all(itertools.repeat(NASTY), Verdict.ERROR)


def hostile_pages() -> dict[str, str]:
    report = hostile_report()
    checked = replace(report, problem="", submission="double.py")
    source = f"x = '''{NASTY}\n'''\n{NASTY}\n"
    grading = Grading(NASTY, NASTY, 0.1, 1, 2, False, 0, True, [NASTY], NASTY)
    due = {NASTY: datetime.now(UTC)}
    return {
        "problem": report_page([(report, source)]),
        "checks": report_page([(checked, source), (report, source)]),
        # Around a fragment there is no policy that forbids scripts.
        "fragment": f"<!doctype html><body>{report_fragment(checked, source)}</body>",
        "progress": progress_page(NASTY, [(NASTY, NASTY)], [grading], {NASTY}, due),
    }


def progress_sample() -> str:
    """A page of progress with everything on it."""
    start = datetime(2026, 1, 1, 23, 0, tzinfo=UTC)

    def tried(name: str, number: int, earned: int, *mistakes: str) -> Grading:
        started = (start + timedelta(minutes=30 * number)).isoformat()
        solved = earned == 4
        return Grading(name, started, 0.1, earned, 4, solved, number, True, [*mistakes], "")

    gradings = [
        tried("one", 0, 0, "mask-inverted"),
        tried("one", 1, 1, "mask-inverted", "never-scaled"),
        tried("two", 2, 4),
        tried("gone", 3, 2, "unheard-of"),
        tried("one", 4, 3),
    ]
    exercises = [("one", "The first"), ("two", "The second"), ("three", "The third")]
    due = {"two": start, "one": datetime(2999, 1, 1, tzinfo=UTC)}
    return progress_page("A kit", exercises, gradings, {"two"}, due)
