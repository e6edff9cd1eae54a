"""Puts explanations where they belong: beside the checks that failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.crashes import explain_crash
from grader.diagnosis.words import describe, reasons
from grader.records import CheckResult, Verdict

LEFT_OUT = "No explanation was looked for: to judge this file took all the time there is."


def explain_crashes(
    checks: Sequence[CheckResult], source: str, time_is_up: Callable[[], bool]
) -> list[CheckResult]:
    """The checks, with what their exceptions mean; or with a line that it was left out."""

    def explained(check: CheckResult) -> CheckResult:
        if check.fault is None or check.verdict is not Verdict.ERROR:
            return check
        says = LEFT_OUT if time_is_up() else explain_crash(check.fault, source)
        return replace(check, explanation=says)

    return [explained(check) for check in checks]


def leave_out_explanation(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """The checks, the first that failed with a line that its mistake was not looked for."""
    first = next((check for check in checks if check.verdict is Verdict.FAIL), None)
    return [replace(c, explanation=LEFT_OUT) if c is first else c for c in checks]


def explain_values(
    checks: Sequence[CheckResult], found: Explanation
) -> tuple[list[CheckResult], tuple[tuple[str, ...], ...]]:
    """The checks, the first that shows wrong values with its diagnosis; the sets of mistakes."""
    named = bool(found.sets and found.sets[0])
    if not named and not found.note:
        return list(checks), ()
    failed = [check for check in checks if check.verdict is Verdict.FAIL]
    first = next((check for check in failed if check.difference is not None), failed[0])
    says, hurts = found.note, ""
    if named:
        says = describe(found.sets, found.left, found.beginning, found.right)
        hurts = reasons(found.sets[0])
    explained = [
        replace(check, explanation=says, reason=hurts) if check is first else check
        for check in checks
    ]
    return explained, tuple(tuple(mistake.name for mistake in names) for names in found.sets)
