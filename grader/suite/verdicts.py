"""The verdict on a check, given the exception that ended it."""

from __future__ import annotations

import contextlib
import traceback

import pytest

from grader.errors import GraderFault, MachineBusy
from grader.records import Difference, Fault, Verdict
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.workers import WorkerEnded, WorkerTimeout
from grader.submission import SourceProblem
from grader.suite.compare import CheckFailed


def verdict_on(
    name: str, error: BaseException | None
) -> tuple[Verdict, str, Difference | None, Fault | None]:
    """Return a check's verdict, message, difference and fault, given the error that ended it.

    Raises:
        MachineBusy: The check ended with that error, so there is no verdict on it.
        GraderFault: The check itself failed.
    """
    match error:
        case None:
            return Verdict.PASS, "", None, None
        case CheckFailed():
            return Verdict.FAIL, str(error), error.difference, None
        case SubmissionError():
            verdict = Verdict.TODO if error.todo else Verdict.ERROR
            return verdict, str(error), None, error.fault
        case SubmissionRefused() | SourceProblem():
            return Verdict.ERROR, str(error), None, None
        case WorkerTimeout():
            return Verdict.TIMEOUT, f"the submission {error}", None, None
        case WorkerEnded():
            return Verdict.ERROR, f"the submission {error}", None, None
        case pytest.skip.Exception():
            return Verdict.SKIP, error.msg or "", None, None
        case MachineBusy():
            raise error
    text = type(error).__name__
    with contextlib.suppress(Exception):
        text = "".join(traceback.format_exception(error))[-4000:]
    raise GraderFault(f"the check `{name}` itself failed; please report this:\n{text}")
