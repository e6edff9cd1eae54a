"""What a report says, in the same words whatever it is shown on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from grader.outputs.sanitise import clean
from grader.records import CheckResult, Difference, Frame, Report, Verdict

NOT_WRITTEN = "not written yet: it raises NotImplementedError"
NAN, IMPOSSIBLE = "?", "!"  # how a weight is marked that is no share of anything
MARKS = {NAN: "not a number", IMPOSSIBLE: "below 0 or above 1: no share of anything"}


def still_a_stub(report: Report) -> str:
    """What is said once of a file that nobody has written in yet."""
    return f"still a stub: nothing to grade yet, {report.possible} points to earn"


def state_of(report: Report) -> str:
    """What came of a grading, in a few words."""
    if report.problem:
        return "could not be tried"
    if report.untouched:
        return "still a stub"
    return "solved" if report.solved else "not solved yet"


def next_step(report: Report, as_given: bool = False, hints_left: bool = True) -> str:
    """What to do now, commands in backticks.

    Args:
        report: Of the grading.
        as_given: Whether the file is as it was given, to be repaired.
        hints_left: Whether there is a hint that was not shown yet.
    """
    name = report.exercise
    if report.solved:
        return f"`grade solution {name}` for ours, `grade next` for the next exercise"
    if report.problem:
        return f"mend that{' line' if report.problem_line else ''}, then grade again"
    hint = f"`grade hint {name}`"
    if not hints_left:
        hint = f"no hint is left; `grade solution {name} --reveal` shows ours"
    if as_given or report.untouched:
        return f"edit `{clean(report.submission)}`, then grade again; {hint}"
    return hint


def where_to_read_more(report: Report) -> str:
    """The commands that explain the mistakes found; empty where none was."""
    names = dict.fromkeys(name for found in report.diagnosis for name in found)
    return ", ".join(f"`grade mistakes {name}`" for name in names)


def isolation_in_force(report: Report) -> str:
    """The level of confinement, and why no stronger one is in force."""
    reasons = "; ".join(f"`{level}` cannot be had: {why}" for level, why in report.refused.items())
    return clean(f"isolation {report.isolation}" + (f" ({reasons})" if reasons else ""))


def difference_facts(difference: Difference) -> dict[str, str]:
    """The largest difference, where it is, yours and the right value, each as text."""
    return {
        "largest difference": f"{difference.largest:.3g}",
        "at": f"[{', '.join(str(i) for i in difference.index)}]",
        "yours": f"{difference.yours:.6g}",
        "expected": f"{difference.expected:.6g}",
    }


def describe_difference(difference: Difference) -> str:
    """The largest difference, where, yours and expected."""
    facts = difference_facts(difference)
    return (
        f"largest difference {facts['largest difference']} at {facts['at']}: "
        f"yours {facts['yours']}, expected {facts['expected']}"
    )


def explained_message(check: CheckResult) -> str:
    """All that is known of a check that did not pass, line by line."""
    todo = NOT_WRITTEN if check.verdict is Verdict.TODO else ""
    lines = [todo or check.message]
    if check.difference is not None:
        lines.append(describe_difference(check.difference))
    if check.fault is not None:
        lines += [
            f"{frame.file}:{frame.line} in {frame.function}: {frame.source}"
            for frame in check.fault.frames
        ]
    return clean("\n".join(text for text in (*lines, check.explanation, check.reason) if text))


def located(report: Report, line: int, message: str) -> str:
    """A message as editors find it: ``path/to/exercise3.py:44: message``."""
    place = PurePath(report.submission).with_name(report.place(line))
    return clean(f"{place}: {message}")


def with_repeats(checks: Sequence[CheckResult]) -> Iterator[tuple[CheckResult, bool]]:
    """Each check, and whether one before it has said the same."""
    said: set[tuple[str, tuple[Frame, ...]]] = set()  # an exception by its type and its lines
    for check in checks:
        fault = check.fault
        says = (fault.type, fault.frames) if fault and fault.frames else (check.message, ())
        yield check, check.difference is None and bool(check.message) and says in said
        said.add(says)


def printed_lines(output: str) -> list[str]:
    """What a submission printed, line by line; a line that repeats itself comes once."""
    groups = itertools.groupby(clean(output).strip("\n").split("\n") if output.strip() else [])
    counted = [(line, len(list(same))) for line, same in groups]
    return [line if count == 1 else f"{line} (× {count})" for line, count in counted]


def mark_of(weight: float) -> str:
    """The mark of an attention weight that can be none; empty for one that can."""
    if math.isnan(weight):
        return NAN
    return "" if -0.01 < weight < 1.01 else IMPOSSIBLE
