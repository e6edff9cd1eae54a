"""A report as Exercism's ``results.json``, version 3.

Source: https://exercism.org/docs/building/tooling/test-runners/interface
"""

from __future__ import annotations

from typing import Any

import msgspec

from grader.outputs.phrases import explained_message
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Report, Verdict

MAX_MESSAGE_CHARS = 65_535  # of the message about the whole file
MAX_OUTPUT_CHARS = 500  # that are kept of what one test printed


def render_exercism(report: Report) -> str:
    """Return a report as JSON; skipped checks are left out, as Exercism has no word for them."""
    record: dict[str, Any] = {"version": 3}
    if report.problem:
        record |= {"status": "error", "message": clean(report.problem)[:MAX_MESSAGE_CHARS]}
    else:
        tried = [check for check in report.checks if check.verdict is not Verdict.SKIP]
        record |= {
            "status": "pass" if report.solved else "fail",
            "message": None,
            "tests": [_test(report, check) for check in tried],
        }
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"


def _test(report: Report, check: CheckResult) -> dict[str, Any]:
    test: dict[str, Any] = {"name": check.claim, "status": _status(check), "task_id": 0}
    test["test_code"] = check.why or check.claim  # the code itself is hidden
    if check.verdict is not Verdict.PASS:
        test["message"] = explained_message(report, check)
    if check.output:
        test["output"] = _cut(clean(check.output))
    return test


def _status(check: CheckResult) -> str:
    if check.verdict is Verdict.PASS:
        return "pass"
    return "fail" if check.verdict in (Verdict.FAIL, Verdict.TODO) else "error"


def _cut(text: str) -> str:
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    note = "\n… (cut)"
    return text[: MAX_OUTPUT_CHARS - len(note)] + note
