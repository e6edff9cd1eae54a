"""Several reports as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.outputs.phrases import state_of
from grader.records import Report


def render_summary(reports: Sequence[Report]) -> Iterator[str]:
    """A line for each report, and one for all of them."""
    width = max(len("exercise"), *(len(report.exercise) for report in reports))
    yield f"{'exercise':<{width}}  {'score':>9}"
    for report in reports:
        score = f"{report.earned} / {report.possible}"
        yield f"{report.exercise:<{width}}  {score:>9}  {state_of(report)}"
    earned = sum(report.earned for report in reports)
    possible = sum(report.possible for report in reports)
    solved = sum(report.solved for report in reports)
    score = f"{earned} / {possible}"
    yield f"{'all':<{width}}  {score:>9}  {solved} of {len(reports)} solved"
