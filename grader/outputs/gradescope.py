"""A submission's reports as Gradescope's ``results.json``.

Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from grader.languages import say
from grader.outputs.phrases import beyond_what_was_given, explained_message, isolation_in_force
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Report, Verdict

ASSIGNMENT_POINTS = 100


def render_gradescope(reports: Sequence[Report], weights: Mapping[str, float]) -> str:
    """Return JSON with a test for each check, in all worth 100 points, as the gradebook's percent.

    Students read the result, so it names no seed. The tests' scores add up to the score. In a
    fix-it exercise only points beyond those of the file as given count, so one more test takes
    those off.

    Args:
        reports: The reports of one submission, one for each exercise.
        weights: The weight of every exercise, by name.
    """
    whole = sum(weights.values())
    worth = {
        report.exercise: ASSIGNMENT_POINTS * weights[report.exercise] / whole for report in reports
    }
    tests = [
        test
        for number, report in enumerate(reports, 1)
        for test in _tests(report, number, worth[report.exercise])
    ]
    shares = [
        worth[report.exercise] * report.earned / max(report.possible, 1) for report in reports
    ]
    record = {
        "score": round(sum(shares), 6),
        "execution_time": round(sum(report.seconds for report in reports), 3),
        "output": "\n".join(_summary(report) for report in reports),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"


def _tests(report: Report, number: int, worth: float) -> Iterator[dict[str, Any]]:
    scale = worth / max(sum(check.possible for check in report.checks), 1)
    if report.begins_at:
        yield _deduction_as_given(report, number, worth, scale)
    for index, check in enumerate(report.checks, 1):
        test: dict[str, Any] = {
            "name": f"{report.exercise}: {check.claim}",
            "number": f"{number}.{index}",
            "output": _output(report, check),
            "output_format": "text",
            "visibility": "visible",
            "tags": [report.exercise, str(check.verdict)],
        }
        if check.verdict is not Verdict.SKIP:  # a check that was not tried has no score to lose
            test["score"] = round(check.earned * scale, 6)
            test["max_score"] = round(check.possible * scale, 6)
            test["status"] = "passed" if check.verdict is Verdict.PASS else "failed"
        yield test


def _deduction_as_given(report: Report, number: int, worth: float, scale: float) -> dict[str, Any]:
    """Return the test that takes off what a fix-it file earns as given; 0 once it is solved."""
    raw = scale * sum(check.earned for check in report.checks)
    share = worth * report.earned / max(report.possible, 1)
    return {
        "name": say(f"{report.exercise}: less what the file earns as given"),
        "number": f"{number}.0",
        "score": round(share - raw, 6),
        "output": say(
            f"The file as given passes checks worth {report.begins_at} points, which count "
            f"for nobody: beyond them are {report.earned} of {report.possible}."
        ),
        "output_format": "text",
        "visibility": "visible",
        "tags": [report.exercise],
    }


def _output(report: Report, check: CheckResult) -> str:
    text = report.problem if report.problem and check.possible else explained_message(report, check)
    return clean(text or check.why)


def _summary(report: Report) -> str:
    said = [beyond_what_was_given(report), isolation_in_force(report)]
    facts = ", ".join(filter(None, said))
    text = f"{report.exercise}: {report.earned} / {report.possible}, {facts}"
    cause = report.cause
    known = report.problem or (f"{cause.says}\n{cause.advice}".strip() if cause else "")
    return f"{text}\n{clean(known)}" if known else text
