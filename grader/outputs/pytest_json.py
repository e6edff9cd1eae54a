"""Reports in the form of pytest-json-report, built by that package's own functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from pytest_jsonreport import serialize

from grader.outputs.phrases import explained_message
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Report, Verdict

OUTCOMES = {Verdict.PASS: "passed", Verdict.SKIP: "skipped"}  # any other counts as failed


def render_pytest_json(reports: Sequence[Report]) -> str:
    """Return one session with all reports' checks; metadata holds what pytest has no field for."""
    tests = {
        _node(report, check): _test(report, check, plain["difference"])
        for report in reports
        for check, plain in zip(report.checks, report.to_builtins()["checks"], strict=True)
    }
    first = reports[0]
    whole = serialize.make_report(
        created=datetime.fromisoformat(first.started).timestamp(),
        duration=sum(report.seconds for report in reports),
        exitcode=0 if all(report.solved for report in reports) else 1,
        root=".",
        environment=first.versions,
        summary=serialize.make_summary(tests, collected=len(tests)),
        tests=list(tests.values()),
    )
    return json.dumps(whole, indent=2) + "\n"


def _node(report: Report, check: CheckResult) -> str:
    return f"{clean(report.submission)}::{report.exercise}::{check.name}"


def _test(report: Report, check: CheckResult, difference: Any) -> dict[str, Any]:
    outcome = OUTCOMES.get(check.verdict, "failed")
    line = check.fault.frames[-1].line if check.fault and check.fault.frames else 1
    location = (report.submission, line - 1, check.name)
    test: dict[str, Any] = serialize.make_testitem(_node(report, check), [], location)
    text = "" if outcome == "passed" else clean(report.problem or explained_message(report, check))
    test["outcome"] = outcome
    test["metadata"] = {
        "verdict": check.verdict.value,
        "points": check.earned,
        "possible": check.possible,
        "why": check.why,
        "difference": difference,
        "seed": report.seed,
        "isolation": report.isolation,
    }
    for when in ("setup", "call", "teardown"):
        called = when == "call"
        stage = SimpleNamespace(
            duration=check.seconds if called else 0.0,
            outcome=outcome if called else "passed",
            longrepr=None,
            longreprtext=text if called else "",
        )
        stdout = clean(check.output) if called else ""
        test[when] = serialize.make_teststage(stage, stdout, "", None, omit_traceback=True)
    return test
