"""A submission's reports as Gradescope's ``results.json``.

Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from grader.outputs.text import clean
from grader.outputs.wording import explained_message
from grader.report import CheckResult, Report, Verdict


def render_gradescope(reports: Sequence[Report], weights: Mapping[str, float]) -> str:
    """One test for each check; its score is its share of the points of its exercise, weighted.

    Args:
        reports: Of all exercises of one submission.
        weights: The points of Gradescope that each exercise is worth; 1 where nothing is said
            leaves the points as they are.
    """
    tests = [
        test
        for number, report in enumerate(reports, 1)
        for test in _tests(report, number, weights.get(report.exercise))
    ]
    record = {
        "score": round(sum(test.get("score", 0.0) for test in tests), 6),
        "execution_time": round(sum(report.seconds for report in reports), 3),
        "output": "\n".join(_summary(report) for report in reports),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "extra_data": {"seeds": {report.exercise: str(report.seed) for report in reports}},
        "tests": tests,
    }
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"


def _tests(report: Report, number: int, weight: float | None) -> Iterator[dict[str, Any]]:
    worth = 1.0 if weight is None else weight / max(report.possible, 1)
    for index, check in enumerate(report.checks, 1):
        test: dict[str, Any] = {
            "name": f"{report.exercise}: {check.claim}",
            "number": f"{number}.{index}",
            "output": _output(report, check),
            "output_format": "text",
            "visibility": "visible",
            "tags": [report.exercise, str(check.verdict)],
        }
        if check.verdict is not Verdict.SKIP:  # what was not tried has no score to lose
            test["score"] = round(check.earned * worth, 6)
            test["max_score"] = round(check.possible * worth, 6)
            test["status"] = "passed" if check.verdict is Verdict.PASS else "failed"
        yield test


def _output(report: Report, check: CheckResult) -> str:
    text = report.problem if report.problem and check.possible else explained_message(check)
    return clean(text or check.why)


def _summary(report: Report) -> str:
    facts = f"seed {report.seed}, isolation {report.isolation}"
    text = f"{report.exercise}: {report.earned} / {report.possible}, {facts}"
    return f"{text}\n{clean(report.problem)}" if report.problem else text
