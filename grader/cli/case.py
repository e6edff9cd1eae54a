"""``grade EXERCISE --case FILE``: write a failed comparison as a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.options import write_text
from grader.cli.saying import echo
from grader.errors import GradeError
from grader.kit import Exercise
from grader.records import Explain, Report, Verdict
from grader.submission import Submission

if TYPE_CHECKING:
    from grader.suite.case import Case


def refuse_case(pairs: Sequence[tuple[Exercise, Submission]], explain: Explain | None) -> None:
    """Refuse ``--case`` where no script can be written, or where it would give the mistake away.

    Raises:
        GradeError: There are several exercises, the file is a notebook, or the exercise's mistake
            is for the learner to find and ``--explain`` does not ask for it.
    """
    if len(pairs) > 1:
        raise GradeError("`--case` is for one exercise; name it")
    ((exercise, submission),) = pairs
    if submission.path.suffix == ".ipynb":
        raise GradeError(
            f"`{submission.path.name}` is a notebook, which a script cannot import: save its "
            "cells as a .py file for `--case`"
        )
    if (exercise.explain if explain is None else explain) is Explain.NOTHING:
        raise GradeError(
            f"a case shows where `{exercise.name}` goes wrong, which is yours to find; with "
            "`--explain cause` it is written all the same"
        )


def write_case(path: Path, case: Case | None, report: Report, submission: Submission) -> None:
    """Write the script of a case; without a case, say why on standard error.

    Raises:
        GradeError: The script cannot be written, or would overwrite the submission.
    """
    if case is None:
        echo(f"no case is written: {_why_no_case(report)}", err=True)
        return
    if path.resolve() == submission.path.resolve():
        raise GradeError(f"`{path}` is the file that is graded; name another for `--case`")
    from grader.outputs.case_script import case_script

    write_text(path, case_script(case, report.exercise, submission.path, report.seed))


def _why_no_case(report: Report) -> str:
    """Return the reason why a report holds no failed comparison to repeat in a script."""
    failed = [check for check in report.checks if check.verdict is Verdict.FAIL]
    if report.solved:
        return "nothing failed"
    if not failed:
        return "nothing was compared, since it could not be tried; the report says why"
    return (
        f"`{failed[0].name}` and what else failed compared no value of one call with the right one"
    )
