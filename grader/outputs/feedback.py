"""The page of feedback for each candidate of a batch, which gives nothing away.

The team chooses how deep it goes: total and points; also what each check asks and what came of it;
also, where known, which mistake was made. At no depth it shows values, neither expected ones nor
drawn ones, nor source, nor anything that a submission printed or, once it was given inputs, put
into an exception. Where finding the mistake is the task, it names no mistake.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from grader.outputs.jinja import render
from grader.outputs.phrases import NOT_WRITTEN, beyond_what_was_given, without_the_repair
from grader.records import (
    Cause,
    CheckResult,
    FeedbackDepth,
    GradebookRow,
    Report,
    Score,
    Status,
    Verdict,
)

VERDICT_SENTENCES = {
    Verdict.TODO: NOT_WRITTEN,
    Verdict.TIMEOUT: "it took too long",
    Verdict.SKIP: "it could not be tried where this was graded, and does not count",
}


@dataclass(frozen=True)
class ShownFeedback:
    """The feedback on one exercise as the template needs it.

    Attributes:
        may_name_mistakes: Whether the mistakes of this exercise may be named.
        depth: How much is told.
    """

    exercise: str
    score: Score
    report: Report | None
    may_name_mistakes: bool
    depth: FeedbackDepth

    @property
    def note(self) -> str:
        """The note on the file, such as why it cannot be tried; empty where points are all.

        Why something was not graded is for the team alone.
        """
        is_told = self.depth is not FeedbackDepth.SCORE
        return self.score.note if is_told and self.score.status is not Status.NOT_GRADED else ""

    @property
    def beyond(self) -> str:
        """Which points of the checks do not count; empty where no check is shown, or all count."""
        return beyond_what_was_given(self.report) if self.checks and self.report else ""

    @property
    def checks(self) -> Sequence[CheckResult]:
        """The checks; none where points are all, or the file could not be tried."""
        if self.depth is FeedbackDepth.SCORE or self.report is None or self.report.problem:
            return ()
        return self.report.checks

    @property
    def cause(self) -> Cause | None:
        """The mistake that was found; None where it is not to be named."""
        is_told = self.depth is FeedbackDepth.CAUSE and self.may_name_mistakes
        return self.report.cause if self.report and is_told else None

    @property
    def apart(self) -> list[CheckResult]:
        """The checks that are listed one by one: those that do not follow from the mistake."""
        following = self.cause.follows if self.cause else ()
        return [check for check in self.checks if check.name not in following]

    @property
    def following(self) -> list[CheckResult]:
        """The checks that follow from the mistake."""
        return [check for check in self.checks if check not in self.apart]

    def sentences_about(self, check: CheckResult) -> list[str]:
        """Return what the page says of a check; nothing of one that passed."""
        if check.verdict is Verdict.PASS:
            return []
        said = [VERDICT_SENTENCES.get(check.verdict, ""), self._raised(check), check.why]
        return [text for text in said if text]

    def _raised(self, check: CheckResult) -> str:
        """Return an exception's type and line, without its text, which may hold drawn values.

        Nor is a type told that the file may have named itself.
        """
        fault = check.fault
        if fault is None or not fault.frames or check.verdict is not Verdict.ERROR:
            return ""
        is_known = fault.type in dir(builtins)
        kind = f"`{fault.type}`" if is_known else "an exception"
        return f"{kind} in line {fault.frames[-1].line}"


def feedback_page(
    title: str,
    exercises: Sequence[str],
    row: GradebookRow,
    reports: Sequence[Report],
    explained_exercises: Collection[str],
    depth: FeedbackDepth,
) -> str:
    """Return the page of one candidate, which loads nothing and runs no script.

    Args:
        title: The title of the take-home.
        exercises: The names of the exercises, in the order of the scores.
        row: The candidate's row.
        reports: The report whose score counts, for each exercise that was graded.
        explained_exercises: The exercises whose mistakes may be named.
        depth: How much the page tells.
    """
    by_name = {report.exercise: report for report in reports}
    by_name |= {
        name: without_the_repair(by_name[name])
        for name in by_name.keys() - set(explained_exercises)
    }
    shown = [
        ShownFeedback(name, score, by_name.get(name), name in explained_exercises, depth)
        for name, score in zip(exercises, row.scores, strict=True)
    ]
    return render("feedback.html", title=title, row=row, shown=shown)
