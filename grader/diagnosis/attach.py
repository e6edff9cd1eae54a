"""Puts explanations where they belong: beside the checks that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.crashes import explain_crash
from grader.diagnosis.words import describe, reasons
from grader.records import CheckResult, Verdict


def explain_crashes(checks: Sequence[CheckResult], source: str) -> list[CheckResult]:
    """The checks, with what their exceptions mean."""
    return [
        replace(check, explanation=explain_crash(check.fault, source))
        if check.fault is not None and check.verdict is Verdict.ERROR
        else check
        for check in checks
    ]


def explain_values(
    checks: Sequence[CheckResult], found: Explanation
) -> tuple[list[CheckResult], tuple[tuple[str, ...], ...]]:
    """The checks, the first that shows wrong values with its diagnosis; the sets of mistakes."""
    if not found.sets or not found.sets[0]:
        return list(checks), ()
    failed = [check for check in checks if check.verdict is Verdict.FAIL]
    first = next((check for check in failed if check.difference is not None), failed[0])
    says, hurts = describe(found.sets, found.left, found.beginning), reasons(found.sets[0])
    explained = [
        replace(check, explanation=says, reason=hurts) if check is first else check
        for check in checks
    ]
    return explained, tuple(tuple(mistake.name for mistake in names) for names in found.sets)
