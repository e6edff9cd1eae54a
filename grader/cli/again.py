"""``grade EXERCISE --again``: run the checks that the last grading lost, with its seed."""

from __future__ import annotations

from collections.abc import Sequence

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.notebooks import notebook_file
from grader.kit.stubs import real_path
from grader.practice.history import open_history
from grader.records import Report
from grader.submission import Submission


def passes_now(report: Report) -> bool:
    """Return whether none of the checks in a report is lost."""
    return not any(check.is_lost for check in report.checks)


def is_own(exercise: Exercise, submission: Submission) -> bool:
    """Return whether a submission is the learner's own file of an exercise, or its notebook."""
    mine = (exercise.file, notebook_file(exercise))
    return real_path(submission.path) in map(real_path, mine)


def lost_in_last_grading(
    pairs: Sequence[tuple[Exercise, Submission]], kit: Kit, has_report: bool
) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return the seed of each exercise's last grading and the checks that it lost, by its name.

    Args:
        pairs: Exercises, each with the submission to grade as it.
        kit: The kit whose history is read.
        has_report: Whether a report was asked for; a partial grading has none to write.

    Raises:
        GradeError: A report was asked for, a submission is no file of the kit, or an exercise was
            not graded yet or lost nothing.
    """
    if has_report:
        raise GradeError("`--again` is no whole grading: it has no report to write")
    found: dict[str, tuple[int, tuple[str, ...]]] = {}
    with open_history(kit, to_write=False) as history:
        for exercise, submission in pairs:
            if not is_own(exercise, submission):
                raise GradeError(
                    f"what `{submission.path}` lost is not kept: it is no file of the kit"
                )
            name, last = exercise.name, history.last_lost(exercise.name)
            if last is None:
                raise GradeError(f"{name} was not graded yet: `grade {name}` does")
            seed, lost = last
            if not lost:
                raise GradeError(f"{name} lost nothing last time: `grade {name}` tries all again")
            found[name] = seed, tuple(lost)
    return found
