"""Finding the score that counts among several gradings of one candidate's exercise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from grader.hiring.batch_records import GradingResult
from grader.kit.stubs import digest
from grader.records import Report, Score, Status

NOT_GRADED = Score(0, 0, Status.NOT_GRADED)
WITHDRAWN = Score(0, 0, Status.WITHDRAWN)


def with_note_and_mark(score: Score, note: str, mark: str) -> Score:
    """Return a score with a note and a mark added."""
    notes = "; ".join(filter(None, (score.note, note)))
    return replace(score, note=notes, marks=(*score.marks, mark))


def lowest_score(results: Sequence[GradingResult], stubs: Collection[str]) -> Score:
    """Return the score of one candidate's exercise: the lowest of several gradings.

    Args:
        results: The gradings, one for each seed.
        stubs: The digests of the stubs that may have been sent.
    """
    reports = [one.report for one in results]
    worst = min(reports, key=lambda report: report.earned)
    names = dict.fromkeys(name for report in reports for name in (report.diagnosis or ((),))[0])
    note = worst.problem.partition("\n")[0] or results[0].note
    marks = ("files left aside",) if "left aside: " in results[0].note else ()
    status = _status(results, stubs)
    return Score(worst.earned, worst.possible, status, tuple(names), note, marks)


def _status(results: Sequence[GradingResult], stubs: Collection[str]) -> Status:
    first, earned = results[0], {one.report.earned for one in results}
    if first.unread:
        return Status.CANNOT_BE_READ
    if not first.file:
        return Status.MISSING
    if digest(first.source.encode()) in stubs:
        return Status.AS_SENT
    if any(one.report.problem for one in results):
        return Status.CANNOT_BE_TRIED
    if len(earned) > 1:
        return Status.DISAGREES
    return Status.SOLVED if first.report.solved else Status.GRADED


def lowest_reports(results: Sequence[GradingResult]) -> list[Report]:
    """Return one report for each exercise, the one with the lowest score."""
    found: dict[str, Report] = {}
    for one in results:
        known = found.get(one.exercise)
        if known is None or one.report.earned < known.earned:
            found[one.exercise] = one.report
    return list(found.values())
