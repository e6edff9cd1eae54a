"""Put explanations beside the checks that failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.crashes import explain_exception
from grader.diagnosis.words import describe_mistakes, place_sentence, question_text, reasons
from grader.records import Cause, CheckResult, Explain, Verdict

OTHERS_POSSIBLE = "The search was cut short: other mistakes may do so as well."
NONE_FOUND_CUT_SHORT = (
    "No known mistake was found that gives these numbers; the search was cut short, so there may "
    "be one."
)
NOT_SEARCHED = "No explanation was searched for: grading this file took all the time available."


def explain_exceptions(
    checks: Sequence[CheckResult], source: str, time_is_up: Callable[[], bool]
) -> list[CheckResult]:
    """Return the checks with their exceptions explained, or with a note that time was up."""

    def explained(check: CheckResult) -> CheckResult:
        if check.fault is None or check.verdict is not Verdict.ERROR:
            return check
        if check.fault.type == "RuntimeError" and not check.fault.frames:
            return check  # no line of the submission did it: its parameters were being set
        says = NOT_SEARCHED if time_is_up() else explain_exception(check.fault, source)
        return replace(check, explanation=says)

    return [explained(check) for check in checks]


def say_why_not(checks: Sequence[CheckResult], why: str) -> list[CheckResult]:
    """Return the checks; one that failed gets a line that says why no mistake is named."""
    failed = [check for check in checks if check.verdict is Verdict.FAIL]
    first = next((c for c in failed if c.difference is not None), next(iter(failed), None))
    return [replace(c, explanation=why) if c is first else c for c in checks]


def cause_of(found: Explanation, explain: Explain) -> Cause:
    """Return what a report says of the mistakes that reproduce a submission: as ``explain`` allows.

    That is a question, the step in which they lie, or what they are and why they matter.
    """
    mistakes = found.sets[0]
    if explain is Explain.QUESTION:
        return Cause(question_text(mistakes))
    if explain is Explain.PLACE:
        return Cause(place_sentence(mistakes))
    says = describe_mistakes(found.sets, found.unexplained, found.beginning, found.right_anyway)
    return Cause(f"{says} {OTHERS_POSSIBLE}" if found.is_cut_short else says, reasons(mistakes))
