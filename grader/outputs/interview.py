"""The report of a mock interview, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from grader.languages import say
from grader.outputs.terminal import VERDICT_STYLES, Renderable, render_report
from grader.records import Report, Verdict


def render_interview(
    reports: Sequence[Report], minutes: Mapping[str, float | None], late: Mapping[str, float]
) -> Iterator[Renderable]:
    """Yield what was right and wrong, how long each exercise took, and what to practise.

    Args:
        reports: The report of each exercise.
        minutes: The minutes that each exercise took; None where it was never saved.
        late: How many minutes after the end each exercise was saved; 0 if in time.
    """
    earned = sum(report.earned for report in reports)
    possible = sum(report.possible for report in reports)
    solved = sum(report.solved for report in reports)
    counted = f"{solved} of {len(reports)} solved, {earned} of {possible} points"
    yield Text(say(counted), style="bold")
    for report in reports:
        yield Text()
        yield _heading(report, minutes.get(report.exercise), late.get(report.exercise, 0.0))
        yield from render_report(report, brief=True)
    yield Text()
    yield Text(say("to practise"), style="bold")
    for line in what_to_practise(reports):
        yield Text(f"  {say(line)}")


def _heading(report: Report, minutes: float | None, late: float) -> Text:
    took = say("never saved") if minutes is None else f"{minutes:.0f} min"
    verdict = Verdict.PASS if report.solved else Verdict.FAIL
    text = Text.assemble((report.exercise, "bold"), f"  {took}  ")
    text.append(say("solved" if report.solved else "not solved"), VERDICT_STYLES[verdict])
    if late >= 1:
        text.append(say(f"  saved {late:.0f} min after the time was up"), "yellow")
    return text


def what_to_practise(reports: Sequence[Report]) -> list[str]:
    """Return what to practise: the mistakes that were made, then the exercises not solved."""
    mistakes = dict.fromkeys(
        name for report in reports for name in next(iter(report.diagnosis), ())
    )
    lines = [f"`grade mistakes {name}`" for name in mistakes]
    for report in reports:
        if report.untouched:
            lines.append(f"{report.exercise} was not started: `grade hint {report.exercise}`")
        elif not report.solved:
            lines.append(f"{report.exercise} again: `grade watch {report.exercise}`")
    return lines or ["nothing: all is right; `grade interview` with other exercises, or less time"]
