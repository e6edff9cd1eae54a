"""Keep only what a submission's entry points need, by following each name to what sets it.

The demonstrations of a notebook (prints, plots, training, a first try at the same class) are not
run: they may need files, packages or minutes that a grading does not have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from grader.submission.notebook.def_use import StatementGroup, read_statement_groups
from grader.submission.notebook.magics import parses
from grader.submission.source import SourceProblem, Submission

MAX_STEPS = 200_000  # of following names; only a notebook made to take long needs more
AT_THE_END = 1 << 60
UNREADABLE = (SourceProblem, SyntaxError, LookupError, RecursionError, MemoryError, ValueError)


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
    groups = needed_groups(submission, entry_points)
    if groups is None:
        return submission
    left = _lines_of(groups, submission.source)
    if any(group.postpones_annotations for group in groups):
        # Before all else, in the place of `# cell 1`.
        left[0] = "from __future__ import annotations"
    return replace(submission, source="\n".join(left))


def cut_apart(source: str, wanted: Sequence[str], others: Iterable[Sequence[str]]) -> str:
    """Return one exercise's part of a source that solves several, line for line.

    A source that solves one alone, lacks an entry point or does not parse stays whole.

    Args:
        source: The source.
        wanted: The entry points of the exercise.
        others: The entry points of each other exercise that may be there.
    """
    try:
        groups = read_statement_groups(Submission(Path(), source))
        there = {name for group in groups for name in group.sets}
        more = [set(names) for names in others]
        if not any(names <= there and not names <= set(wanted) for names in more):
            return source
        kept = _follow(groups, wanted)
    except UNREADABLE:
        return source
    needed = [group for number, group in enumerate(groups) if number in kept]
    return "\n".join(_lines_of(needed, source))


def _lines_of(groups: Iterable[StatementGroup], source: str) -> list[str]:
    """Return the lines of a source, all empty but for those of groups that set a name."""
    lines = source.split("\n")
    left = [""] * len(lines)
    for group in groups:
        if group.sets or group.imports_all:
            at = slice(group.lines.start - 1, group.lines.stop - 1)
            left[at] = lines[at]
    return left


def needed_groups(
    submission: Submission, entry_points: Sequence[str]
) -> list[StatementGroup] | None:
    """Return the groups that ``only_needed`` keeps; None if it keeps everything."""
    if not submission.cells:
        return None
    try:
        groups = read_statement_groups(_without_broken_cells(submission))
        kept = _follow(groups, entry_points)
    except UNREADABLE:
        return None
    return [
        group
        for number, group in enumerate(groups)
        if number in kept or group.postpones_annotations
    ]


def _without_broken_cells(submission: Submission) -> Submission:
    """Return a notebook without the cells that do not parse: Jupyter runs the others regardless."""
    lines = submission.source.split("\n")
    for before, code in submission.code_blocks():
        if not parses(code):
            count = code.count("\n") + 1
            lines[before : before + count] = [""] * count
    return replace(submission, source="\n".join(lines))


def _follow(groups: Sequence[StatementGroup], entry_points: Iterable[str]) -> set[int]:
    """Return the indices of the groups that the entry points need.

    Raises:
        LookupError: No group sets an entry point, or following the names takes too many steps.
    """
    setters = _setters(groups)
    if not setters.keys() >= set(entry_points):
        raise LookupError
    kept = {number for number, group in enumerate(groups) if group.imports_all}
    asked = {(name, AT_THE_END) for name in entry_points}  # which group before that place sets it?
    open_questions = list(asked)
    steps = 0
    while open_questions:
        name, before = open_questions.pop()
        found = setters.get(name, [])
        for place in range(bisect_left(found, before) - 1, -1, -1):
            group = groups[found[place]]
            kept.add(found[place])
            questions = {(used, found[place]) for used in group.uses}
            # Read when the function runs.
            questions |= {(used, before) for used in group.uses_when_called}
            steps += 1 + len(questions)
            if steps > MAX_STEPS:
                raise LookupError
            open_questions += questions - asked
            asked |= questions
            if name in group.replaces:
                break
    return kept


def _setters(groups: Sequence[StatementGroup]) -> dict[str, list[int]]:
    """Return the indices of the groups that set each name, in order."""
    found: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for name in group.sets:
            found.setdefault(name, []).append(number)
    return found
