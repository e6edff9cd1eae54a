"""What a report says, in the same words whatever it is shown on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from grader.diagnosis.catalogue import catalogue
from grader.languages import say
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Difference, Frame, Report, Verdict

NOT_WRITTEN = "not written yet: it raises NotImplementedError"
FURTHER = "test_a_further_check"
NAMES_IT = "Its name would say what there is to repair."
NAN, IMPOSSIBLE = "?", "!"  # how a weight is marked that is no share of anything
MARKS = {NAN: "not a number", IMPOSSIBLE: "below 0 or above 1: no share of anything"}


def still_a_stub(report: Report) -> str:
    """What is said once of a file that nobody has written in yet."""
    return say(f"still a stub: nothing to grade yet, {report.possible} points to earn")


def beyond_what_was_given(report: Report) -> str:
    """Which points of a fix-it exercise count for nobody; empty where all do."""
    begins_at = report.begins_at
    return say(f"beyond the {begins_at} of the file as given") if begins_at else ""


def without_the_repair(report: Report) -> Report:
    """A fix-it exercise's report as those may read it who are to find the mistake.

    Its first check is about what a colleague complained of. What others that fail are called, and
    say, names the repair, so they are told of as checks and no more; so does what is known of an
    exception.
    """
    checks = [
        replace(check, name=FURTHER, why=NAMES_IT, message="", difference=None, explanation="")
        if index and check.verdict is Verdict.FAIL
        else replace(check, explanation="")
        for index, check in enumerate(report.checks)
    ]
    return replace(report, checks=tuple(checks), cause=None, diagnosis=(), maps=())


def state_of(report: Report) -> str:
    """What came of a grading, in a few words."""
    if report.problem:
        return say("could not be tried")
    if report.untouched:
        return say("still a stub")
    return say("solved") if report.solved else say("not solved yet")


def next_step(
    report: Report, as_given: bool = False, hints_left: bool = True, options: str = ""
) -> str:
    """What to do now, commands in backticks.

    Args:
        report: Of the grading.
        as_given: Whether the file is as it was given, to be repaired.
        hints_left: Whether there is a hint that was not shown yet.
        options: That every command needs, with a blank before each.
    """
    name = f"{report.exercise}{options}"
    if report.solved:
        return say(f"`grade solution {name}` for ours, `grade next{options}` for the next exercise")
    if report.problem:
        return say(f"mend that{' line' if report.problem_line else ''}, then grade again")
    hint = f"`grade hint {name}`"
    if not hints_left:
        hint = f"no hint is left; `grade solution {name} --reveal` shows ours"
    if as_given or report.untouched:
        return say(f"{_edit(report.submission)}; {hint}")
    return say(hint)


def _edit(submission: str) -> str:
    """What to do with a file, or with the cell of a notebook that is running, which has no name."""
    if submission == "notebook":
        return "edit the cell, then run it again"
    return f"edit `{clean(submission)}`, then grade again"


def where_to_read_more(report: Report) -> str:
    """The commands that tell more of the mistakes found; empty where there is no more."""
    known = catalogue()
    names = dict.fromkeys(name for found in report.diagnosis for name in found if name in known)
    return ", ".join(f"`grade mistakes {name}`" for name in names)


def isolation_in_force(report: Report) -> str:
    """The level of confinement, and why no stronger one is in force."""
    reasons = "; ".join(
        say(f"`{level}` is not available: {why}") for level, why in report.refused.items()
    )
    return clean(f"{say('isolation')} {report.isolation}" + (f" ({reasons})" if reasons else ""))


def difference_facts(difference: Difference) -> dict[str, str]:
    """The largest difference, where it is, yours and the right value, each as text."""
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
    """The largest difference, where, yours and expected."""
    facts = difference_facts(difference)
    largest = facts.get("largest difference")
    return say(
        f"{f'largest difference {largest} ' if largest else ''}at {facts['at']}: "
        f"yours {facts['yours']}, expected {facts['expected']}"
    )


def counted_by_cause(checks: Sequence[CheckResult]) -> str:
    """How many checks fail by the cause that stands above; which, where it is one."""
    if len(checks) == 1:
        return checks[0].claim
    return say(f"and {len(checks)} checks that follow from it")


def counted_as_above(again: Sequence[CheckResult]) -> str:
    """How many more checks fail by the same as the one above."""
    if len(again) == 1:
        return say("and 1 more check as above")
    return say(f"and {len(again)} more checks as above")


def explained_message(report: Report, check: CheckResult) -> str:
    """What is known of a check that did not pass, where each check is told of by itself.

    The cause comes first with the first check that follows from it; the others name that one.
    """
    cause, lines = report.cause, [plain_message(check)]
    if cause is not None and check.name == _told_with(report):
        lines = [say(cause.says), say(cause.advice), *lines]
    elif report.following(check):
        lines.append(say(f"It follows from what is said of `{_told_with(report)}`."))
    return clean("\n".join(text for text in lines if text))


def plain_message(check: CheckResult) -> str:
    """What is known of a check that did not pass, line by line."""
    lines = [say(NOT_WRITTEN)] if check.verdict is Verdict.TODO else message_lines(check)
    if check.difference is not None:
        lines.append(describe_difference(check.difference))
    if check.fault is not None:
        lines += [
            f"{frame.file}:{frame.line} in {frame.function}: {frame.source}"
            for frame in check.fault.frames
        ]
    return clean("\n".join(text for text in (*lines, say(check.explanation)) if text))


def message_lines(check: CheckResult) -> list[str]:
    """A check's message; further lines of an exception's text begin with a bar, as nothing of ours.

    Else a submission could print a verdict of its own.
    """
    theirs = words_of(check)
    first, *more = theirs.split("\n")
    ours = check.message.removeprefix(theirs)
    return [*([first] if theirs else []), *(f"| {line}" for line in more), *_lines(ours)]


def words_of(check: CheckResult) -> str:
    """What a submission says in a check's message: its exception; empty where it says nothing."""
    said = f"{check.fault.type}: {check.fault.message}" if check.fault else ""
    return said if check.message.startswith(said) else ""


def _lines(text: str) -> list[str]:
    return say(text.strip("\n")).split("\n") if text.strip("\n") else []


def _told_with(report: Report) -> str:
    """The check that the cause is told with, where only checks can be told of."""
    assert report.cause is not None
    failed = [check.name for check in report.checks if check.verdict is Verdict.FAIL]
    return next(iter((*report.cause.follows, *failed)), "")


def located(report: Report, line: int, message: str) -> str:
    """A message as editors find it: ``path/to/exercise3.py:44: message``."""
    place = PurePath(report.submission).with_name(report.place(line))
    return clean(f"{place}: {say(message)}")


def grouped(checks: Sequence[CheckResult]) -> list[tuple[CheckResult, list[CheckResult]]]:
    """Each check with those after it that say nothing else, which are not told again."""
    found: list[tuple[CheckResult, list[CheckResult]]] = []
    said: dict[tuple[str, tuple[Frame, ...]], list[CheckResult]] = {}
    for check in checks:
        fault = check.fault  # an exception is known by its type and its lines
        first = check.message.partition("\n")[0]
        says = (fault.type, fault.frames) if fault and fault.frames else (first, ())
        if check.difference is None and check.message and says in said:
            said[says].append(check)
        else:
            found.append((check, said.setdefault(says, [])))
    return found


def printed_lines(output: str) -> list[str]:
    """What a submission printed, line by line; a line that repeats itself comes once."""
    groups = itertools.groupby(clean(output).strip("\n").split("\n") if output.strip() else [])
    counted = [(line, len(list(same))) for line, same in groups]
    return [line if count == 1 else f"{line} (× {count})" for line, count in counted]


def mark_of(weight: float, is_right: bool = False) -> str:
    """The mark of an attention weight that can be none; empty for one that can, or should."""
    if math.isnan(weight):
        return NAN
    return "" if is_right or -0.01 < weight < 1.01 else IMPOSSIBLE
