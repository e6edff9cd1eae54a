"""The phrases of a report, the same in every form of output."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from grader.diagnosis.catalogue import catalogue
from grader.languages import say
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Difference, Fault, Frame, Report, Verdict
from grader.records.progress import Progress

NOT_WRITTEN = "not written yet: it raises NotImplementedError"
ANONYMOUS_CHECK = "test_a_further_check"
WHY_ANONYMOUS = "Its name would give away what there is to repair."
NAN_MARK, IMPOSSIBLE_MARK = "?", "!"  # marks of attention weights that are no share of anything
MARKS = {NAN_MARK: "not a number", IMPOSSIBLE_MARK: "below 0 or above 1: no share of anything"}


def still_a_stub(report: Report) -> str:
    """Return the one sentence about a submission that is still a stub."""
    return say(f"still a stub: nothing to grade yet, {report.possible} points to earn")


def beyond_what_was_given(report: Report) -> str:
    """Say how many points a fix-it file earns as handed out, which do not count; empty for none."""
    begins_at = report.begins_at
    return say(f"not counting the {begins_at} that the file as given earns") if begins_at else ""


def without_the_repair(report: Report) -> Report:
    """Return a fix-it exercise's report for readers who still have to find the mistake.

    The first check is about what a colleague complained of. The names and messages of the other
    failed checks give away the repair, and so does what is known of an exception: both are removed,
    as are cause, diagnosis and attention maps.
    """
    checks = [
        replace(
            check,
            name=ANONYMOUS_CHECK,
            why=WHY_ANONYMOUS,
            message="",
            difference=None,
            explanation="",
        )
        if index and check.verdict is Verdict.FAIL
        else replace(check, explanation="")
        for index, check in enumerate(report.checks)
    ]
    return replace(report, checks=tuple(checks), cause=None, diagnosis=(), maps=())


def state_of(report: Report) -> str:
    """Return the outcome of a grading in a few words."""
    if report.problem:
        return say("could not be tried")
    if report.untouched:
        return say("still a stub")
    return say("solved") if report.solved else say("not solved yet")


def describe_progress(progress: Progress) -> str:
    """Return how far a grading is in a few words."""
    total = progress.total
    place = min(progress.done + 1, total)
    if progress.unit == "situations":
        return say(f"trying situation {place} of {total}")
    return say(f"check {place} of {total}")


def next_step(
    report: Report, as_given: bool = False, hints_left: bool = True, options: str = ""
) -> str:
    """Return what to do next, with commands in backticks.

    Args:
        report: The report of the grading.
        as_given: Whether the file to be repaired is still as it was given.
        hints_left: Whether there is a hint that was not shown yet.
        options: The options that every command needs, with a blank before each.
    """
    name = f"{report.exercise}{options}"
    if report.solved:
        return say(f"`grade solution {name}` for ours, `grade next{options}` for the next exercise")
    if report.problem:
        return say(f"fix that{' line' if report.problem_line else ''}, then grade again")
    hint = f"`grade hint {name}`"
    if not hints_left:
        hint = f"no hints left; `grade solution {name} --reveal` shows ours"
    if as_given or report.untouched:
        return say(f"{_edit(report.submission)}; {hint}")
    if any(check.verdict is Verdict.TIMEOUT for check in report.checks):
        return say(f"{hint}; `--timeout SECONDS` gives a check more time")
    return say(hint)


def _edit(submission: str) -> str:
    """Say how to go on with a file, or with the cell of a running notebook, which has no name."""
    if submission == "notebook":
        return "edit the cell, then run it again"
    return f"edit `{clean(submission)}`, then grade again"


def where_to_read_more(report: Report) -> str:
    """Return the commands that tell more of the mistakes found; empty where there are none."""
    known = catalogue()
    names = dict.fromkeys(name for found in report.diagnosis for name in found if name in known)
    return ", ".join(f"`grade mistakes {name}`" for name in names)


def isolation_in_force(report: Report) -> str:
    """Return the level of confinement, and why no stronger one is in force."""
    reasons = "; ".join(
        say(f"`{level}` is not available: {why}") for level, why in report.refused.items()
    )
    return clean(f"{say('isolation')} {report.isolation}" + (f" ({reasons})" if reasons else ""))


def difference_facts(difference: Difference) -> dict[str, str]:
    """Return as text: the largest difference, its place, the submission's value, the right one."""
    finite = math.isfinite(difference.largest)
    largest = {"largest difference": f"{difference.largest:.3g}"} if finite else {}
    told = (f"{difference.yours:.6g}", f"{difference.expected:.6g}")
    yours, expected = told if told[0] != told[1] else (difference.yours, difference.expected)
    return largest | {
        "at": f"[{', '.join(str(i) for i in difference.index)}]",
        "yours": str(yours),
        "expected": str(expected),
    }


def describe_difference(difference: Difference) -> str:
    """Return a sentence with the largest difference, its place, and both values there."""
    facts = difference_facts(difference)
    largest = facts.get("largest difference")
    return say(
        f"{f'largest difference {largest} ' if largest else ''}at {facts['at']}: "
        f"yours {facts['yours']}, expected {facts['expected']}"
    )


def counted_by_cause(checks: Sequence[CheckResult]) -> str:
    """Say how many checks follow from the cause shown above; name the check if it is only one."""
    if len(checks) == 1:
        return checks[0].claim
    return say(f"{len(checks)} checks fail for this reason")


def counted_as_above(again: Sequence[CheckResult]) -> str:
    """Say how many more checks fail in the same way as the one above."""
    if len(again) == 1:
        return say("1 more check, as above")
    return say(f"{len(again)} more checks, as above")


def explained_message(report: Report, check: CheckResult) -> str:
    """Return what is known of a check that did not pass, for output that shows each check alone.

    The first check that follows from a cause begins with that cause; the others name that check.
    """
    cause, lines = report.cause, [plain_message(check)]
    if cause is not None and check.name == _check_with_cause(report):
        lines = [say(cause.says), say(cause.advice), *lines]
    elif report.following(check):
        lines.append(say(f"It follows from what is said about `{_check_with_cause(report)}`."))
    return clean("\n".join(text for text in lines if text))


def plain_message(check: CheckResult) -> str:
    """Return what is known of a check that did not pass, line by line, without the cause."""
    lines = [say(NOT_WRITTEN)] if check.verdict is Verdict.TODO else message_lines(check)
    if check.difference is not None:
        lines.append(describe_difference(check.difference))
    if check.fault is not None:
        lines += frame_lines(check.fault)
    return clean("\n".join(text for text in (*lines, say(check.explanation)) if text))


def frame_lines(fault: Fault) -> list[str]:
    """Return a line for each line of the submission that an exception went through."""
    return [f"{one.file}:{one.line} in {one.function}: {one.source}" for one in fault.frames]


def message_lines(check: CheckResult) -> list[str]:
    """Return a check's message; further lines of an exception's text begin with a bar.

    No line of ours begins so. Without the bar, a submission could fake a verdict.
    """
    theirs = exception_text(check)
    first, *more = theirs.split("\n")
    ours = check.message.removeprefix(theirs)
    return [*([first] if theirs else []), *(f"| {line}" for line in more), *_lines(ours)]


def exception_text(check: CheckResult) -> str:
    """Return the submission's part of a check's message, which is its exception; may be empty."""
    said = f"{check.fault.type}: {check.fault.message}" if check.fault else ""
    return said if check.message.startswith(said) else ""


def _lines(text: str) -> list[str]:
    return say(text.strip("\n")).split("\n") if text.strip("\n") else []


def _check_with_cause(report: Report) -> str:
    """Return the name of the check that shows the cause, for output that has checks alone."""
    assert report.cause is not None
    failed = [check.name for check in report.checks if check.verdict is Verdict.FAIL]
    return next(iter((*report.cause.follows, *failed)), "")


def with_place(report: Report, line: int, message: str) -> str:
    """Return a message in the form that editors find: ``path/to/exercise3.py:44: message``."""
    place = PurePath(report.submission).with_name(report.place(line))
    return clean(f"{place}: {say(message)}")


def grouped(checks: Sequence[CheckResult]) -> list[tuple[CheckResult, list[CheckResult]]]:
    """Return each check to show, with the later checks whose message or exception is the same."""
    found: list[tuple[CheckResult, list[CheckResult]]] = []
    said: dict[tuple[str, tuple[Frame, ...]], list[CheckResult]] = {}
    for check in checks:
        fault = check.fault  # exceptions of one type from the same lines say the same
        first = check.message.partition("\n")[0]
        says = (fault.type, fault.frames) if fault and fault.frames else (first, ())
        if check.difference is None and check.message and says in said:
            said[says].append(check)
        else:
            found.append((check, said.setdefault(says, [])))
    return found


def printed_lines(output: str) -> list[str]:
    """Return what a submission printed, line by line; a repeated line comes once, with a count."""
    groups = itertools.groupby(clean(output).strip("\n").split("\n") if output.strip() else [])
    counted = [(line, len(list(same))) for line, same in groups]
    return [line if count == 1 else f"{line} (× {count})" for line, count in counted]


def mark_of(weight: float, is_right: bool = False) -> str:
    """Return the mark of a number that cannot be an attention weight; else an empty string.

    NaN is always marked; a number outside 0 to 1 is marked unless it is the right one.
    """
    if math.isnan(weight):
        return NAN_MARK
    return "" if is_right or -0.01 < weight < 1.01 else IMPOSSIBLE_MARK
