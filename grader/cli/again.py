"""``grade EXERCISE --again``: what the last grading lost, at the seed at which it was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.notebooks import notebook_file
from grader.practice.history import open_history
from grader.records import Report
from grader.submission import Submission

if TYPE_CHECKING:
    from grader.grading import Options


class Again(NamedTuple):
    """What of an exercise is tried again.

    Attributes:
        seed: Of the last grading.
        lost: The names of the checks that it lost.
    """

    seed: int
    lost: tuple[str, ...]

    def in_place_of_all(self, options: Options, seed: int | None) -> Options:
        """Options of a grading that tries this alone; at another seed, if one is given."""
        return replace(options, seed=self.seed if seed is None else seed, only=self.lost)


def passes_now(report: Report) -> bool:
    """Whether nothing of what was tried is lost any more."""
    return not any(check.is_lost for check in report.checks)


def is_own(exercise: Exercise, submission: Submission) -> bool:
    """Whether it is the learner's own file of an exercise, or the notebook beside it."""
    mine = (exercise.file.resolve(), notebook_file(exercise).resolve())
    return submission.path.resolve() in mine


def lost_last(
    pairs: Sequence[tuple[Exercise, Submission]], kit: Kit, has_report: bool
) -> dict[str, Again]:
    """What each exercise lost when it was last graded, by its name.

    Args:
        pairs: Exercises, each with what is graded as it.
        kit: Whose history tells.
        has_report: Whether a report is wanted, which a part of a grading does not have.

    Raises:
        GradeError: It is; or it is not known what was lost, or nothing was.
    """
    if has_report:
        raise GradeError("`--again` is no whole grading: it has no report to write")
    found: dict[str, Again] = {}
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
            found[name] = Again(seed, tuple(lost))
    return found
