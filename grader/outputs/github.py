"""Reports as workflow commands of GitHub Actions: annotations in the learner's file.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.outputs.phrases import counted_by_cause, grouped, plain_message, still_a_stub
from grader.outputs.sanitise import clean
from grader.records import Cause, CheckResult, Report, Verdict

UNANNOTATED_VERDICTS = (Verdict.PASS, Verdict.SKIP)


def render_github(reports: Sequence[Report]) -> str:
    """Return an error for each thing that is wrong, and a notice with each score."""
    return "\n".join(line for report in reports for line in _lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    if report.problem:
        yield _command("error", report, report.problem, report.problem_line, report.exercise)
    elif report.untouched:
        yield _command("error", report, still_a_stub(report), 0, report.exercise)
    else:
        if report.cause is not None:
            yield _command("error", report, _cause(report, report.cause), 0, report.exercise)
        for check, _ in grouped(report.checks):
            if check.verdict not in UNANNOTATED_VERDICTS and not report.following(check):
                title = f"{report.exercise}: {check.claim} ({check.earned}/{check.possible})"
                message = plain_message(check)
                yield _command("error", report, message, _line(check), title)
    score = f"score {report.earned} / {report.possible}, seed {report.seed}"
    yield _command("notice", report, score, 0, report.exercise)


def _cause(report: Report, cause: Cause) -> str:
    checks = [check for check in report.checks if report.following(check)]
    lines = [cause.says, cause.advice, counted_by_cause(checks) if checks else ""]
    return "\n".join(line for line in lines if line)


def _command(kind: str, report: Report, message: str, line: int, title: str) -> str:
    properties = {"file": report.submission, "line": str(line or 1), "title": title}
    if report.cells:  # a notebook has no lines that GitHub could show
        message = f"{report.place(line)}: {message}" if line else message
        del properties["line"]
    listing = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{kind} {listing}::{_escaped(message)}"


def _line(check: CheckResult) -> int:
    return check.fault.frames[-1].line if check.fault and check.fault.frames else 0


def _escaped(text: str, more: str = "") -> str:
    text = clean(text)
    for character in "%\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
