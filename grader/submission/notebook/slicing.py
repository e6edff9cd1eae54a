"""Keep only what a notebook's entry points need, by following each name to what sets it.

The demonstrations in between (prints, plots, training, a first try at the same class) are not run:
they may need files, packages or minutes that a grading does not have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.submission.notebook.def_use import StatementGroup, read_statement_groups
from grader.submission.notebook.magics import parses
from grader.submission.source import SourceProblem, Submission

MAX_STEPS = 200_000  # of following names; only a notebook made to take long needs more
AT_THE_END = 1 << 60


def only_needed(submission: Submission, entry_points: Sequence[str]) -> Submission:
    """Return a notebook with only what its entry points need, line for line; a plain file whole.

    Kept are the last definitions of the entry points, and whatever defines, imports or assigns a
    name that these use, directly or through others. A statement that only has an effect, such as
    ``table.append(1)``, is left out, and so is a cell that does not parse. A notebook that lacks an
    entry point stays whole.

    Args:
        submission: The submission to grade.
        entry_points: The names that the exercise asks for.
    """
    parts = needed_groups(submission, entry_points)
    if parts is None:
        return submission
    lines = submission.source.split("\n")
    left = [""] * len(lines)
    for part in parts:
        if part.sets or part.imports_all:
            at = slice(part.lines.start - 1, part.lines.stop - 1)
            left[at] = lines[at]
    if any(part.postpones for part in parts):  # before all else, in the place of `# cell 1`
        left[0] = "from __future__ import annotations"
    return replace(submission, source="\n".join(left))


def needed_groups(
    submission: Submission, entry_points: Sequence[str]
) -> list[StatementGroup] | None:
    """Return the parts that ``only_needed`` keeps; None if it keeps everything."""
    if not submission.cells:
        return None
    try:
        parts = read_statement_groups(_without_broken_cells(submission))
        kept = _follow(parts, entry_points)
    except (SourceProblem, SyntaxError, LookupError, RecursionError, MemoryError, ValueError):
        return None
    return [part for number, part in enumerate(parts) if number in kept or part.postpones]


def _without_broken_cells(submission: Submission) -> Submission:
    """Return a notebook without the cells that do not parse: Jupyter runs the others regardless."""
    lines = submission.source.split("\n")
    for before, code in submission.parts():
        if not parses(code):
            count = code.count("\n") + 1
            lines[before : before + count] = [""] * count
    return replace(submission, source="\n".join(lines))


def _follow(parts: Sequence[StatementGroup], entry_points: Iterable[str]) -> set[int]:
    """Return the indices of the parts that the entry points need.

    Raises:
        LookupError: No part sets an entry point, or following the names takes too many steps.
    """
    setters = _setters(parts)
    if not setters.keys() >= set(entry_points):
        raise LookupError
    kept = {number for number, part in enumerate(parts) if part.imports_all}
    asked = {(name, AT_THE_END) for name in entry_points}  # which part before that place sets it?
    open_questions = list(asked)
    steps = 0
    while open_questions:
        name, before = open_questions.pop()
        found = setters.get(name, [])
        for place in range(bisect_left(found, before) - 1, -1, -1):
            part = parts[found[place]]
            kept.add(found[place])
            questions = {(used, found[place]) for used in part.uses}
            questions |= {(used, before) for used in part.calls}  # read when the function runs
            steps += 1 + len(questions)
            if steps > MAX_STEPS:
                raise LookupError
            open_questions += questions - asked
            asked |= questions
            if name in part.replaces:
                break
    return kept


def _setters(parts: Sequence[StatementGroup]) -> dict[str, list[int]]:
    """Return the indices of the parts that set each name, in order."""
    found: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        for name in part.sets:
            found.setdefault(name, []).append(number)
    return found
