"""What a report says that a submission lost."""

from __future__ import annotations

from grader.records import Report


def lost(report: Report) -> list[str]:
    """The names of the checks that did not earn all their points, in their order."""
    return [check.name for check in report.checks if check.is_lost]


def losses(report: Report) -> list[str]:
    """What a report says against a submission, for the message of a failed test."""
    found = [f"{c.name}: {c.verdict} {c.message}" for c in report.checks if c.is_lost]
    return [report.problem, *found, f"seed {report.seed}"]
