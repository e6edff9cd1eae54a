"""What a candidate is told of a batch: a page of one's own, which gives nothing away.

It has what each check asks, what came of it, and where it is known which mistake it is. It has no
values, neither expected ones nor drawn ones, nothing that a submission printed or put into an
exception, no source, and of an exercise in which finding the mistake is the task, no mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from grader.outputs.jinja import render
from grader.outputs.phrases import NOT_WRITTEN, without_the_repair
from grader.records import Cause, CheckResult, Report, Row, Score, Verdict

PLAIN = {
    Verdict.TODO: NOT_WRITTEN,
    Verdict.TIMEOUT: "it took too long",
    Verdict.SKIP: "it could not be tried where this was graded, and does not count",
}


@dataclass(frozen=True)
class ShownFeedback:
    """One exercise as the template needs it.

    Attributes:
        explained: Whether mistakes are named.
    """

    exercise: str
    score: Score
    report: Report | None
    explained: bool

    @property
    def checks(self) -> Sequence[CheckResult]:
        """The checks, unless the file could not be tried at all."""
        return self.report.checks if self.report and not self.report.problem else ()

    @property
    def cause(self) -> Cause | None:
        """The mistake that is known, where it may be named."""
        return self.report.cause if self.report and self.explained else None

    @property
    def apart(self) -> list[CheckResult]:
        """The checks that are told of one by one: those that do not follow from the mistake."""
        following = self.cause.follows if self.cause else ()
        return [check for check in self.checks if check.name not in following]

    @property
    def following(self) -> list[CheckResult]:
        """The checks that do."""
        return [check for check in self.checks if check not in self.apart]

    def told(self, check: CheckResult) -> list[str]:
        """What is said of a check that did not pass."""
        if check.verdict is Verdict.PASS:
            return []
        said = [PLAIN.get(check.verdict, ""), self._raised(check), check.why]
        return [text for text in said if text]

    def _raised(self, check: CheckResult) -> str:
        """The exception and its line, without its text, which may hold whatever was drawn."""
        fault = check.fault
        if fault is None or not fault.frames or check.verdict is not Verdict.ERROR:
            return ""
        return f"`{fault.type}` in line {fault.frames[-1].line}"


def feedback_page(
    title: str,
    exercises: Sequence[str],
    row: Row,
    reports: Sequence[Report],
    explained: Collection[str],
) -> str:
    """The page of one candidate, which loads nothing and runs nothing.

    Args:
        title: Of the take-home.
        exercises: Their names, in the order of the scores.
        row: The candidate's.
        reports: One for each exercise that was graded, that whose score counts.
        explained: The exercises of which mistakes may be named.
    """
    by_name = {report.exercise: report for report in reports}
    by_name |= {name: without_the_repair(by_name[name]) for name in by_name.keys() - set(explained)}
    shown = [
        ShownFeedback(name, score, by_name.get(name), name in explained)
        for name, score in zip(exercises, row.scores, strict=True)
    ]
    return render("feedback.html", title=title, row=row, shown=shown)
