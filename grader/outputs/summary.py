"""Several reports as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.languages import say
from grader.languages.columns import display_width, pad_to_width
from grader.outputs.phrases import state_of
from grader.records import Report


def render_summary(reports: Sequence[Report]) -> Iterator[str]:
    """Yield a heading, a line for each report, and one for all of them."""
    first = say("exercise")
    width = max(display_width(first), *(len(report.exercise) for report in reports))
    yield f"{pad_to_width(first, width)}  {pad_to_width(say('score'), 9, right=True)}"
    for report in reports:
        score = f"{report.earned} / {report.possible}"
        yield f"{report.exercise:<{width}}  {score:>9}  {state_of(report)}"
    earned = sum(report.earned for report in reports)
    possible = sum(report.possible for report in reports)
    solved = sum(report.solved for report in reports)
    score = f"{earned} / {possible}"
    said = say(f"{solved} of {len(reports)} solved")
    yield f"{pad_to_width(say('all'), width)}  {score:>9}  {said}"
