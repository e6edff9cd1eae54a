"""A suite's checks of a submission, without all that a grading does beside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.records import CheckResult
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.submission import Submission
from grader.suite.runner import suite_runner


@contextmanager
def checked(
    suite: Path, submission: Submission, sandbox: Sandbox
) -> Iterator[tuple[list[CheckResult], Session]]:
    """What came of each check, and the session, until it is no longer needed."""
    session, runner = Session(sandbox, submission, 60.0, 600.0), suite_runner(suite)
    try:
        yield runner.run(session, seed=1), session
    finally:
        session.close()
        runner.let_go()


def checks_of(suite: Path, source: str, sandbox: Sandbox) -> list[CheckResult]:
    """What came of each check of a source."""
    with checked(suite, Submission(Path("answer.py"), source), sandbox) as (results, _):
        return results
