"""A warm session: one sandbox, and one file at a time graded in it, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.errors import GradeError, GraderFault
from grader.kit import Exercise
from grader.records import Explain, Report
from grader.sandbox.process import Sandbox
from grader.submission import Submission

if TYPE_CHECKING:
    from grader.grading import Options

Tell = Callable[[Exercise, Submission, Report | GradeError | None], None]


class Session:
    """Grades in the background, and can be stopped in the middle; a context manager.

    Args:
        start: Starts a sandbox; again, should the first one be lost.
        options: How to grade, made when torch has been imported.
        tell: Is told, in the session's own thread, what came of a grading; None if it was stopped.
    """

    def __init__(
        self, start: Callable[[], Sandbox], options: Callable[[], Options], tell: Tell
    ) -> None:
        self._start = start
        self._options = options
        self._tell = tell
        self._sandbox: Sandbox | None = start()
        self._foreseen: dict[str, int] = {}  # the seed of the next grading, by exercise
        self._wanted = threading.Event()  # set, the next grading begins, however much is foreseen
        self._thread = self._in_background(self._get_ready)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self._wanted.set()
        self._thread.join()
        if self._sandbox is not None:
            self._sandbox.close()

    def grade(
        self,
        exercise: Exercise,
        submission: Submission,
        maps: bool = False,
        explain: Explain | None = None,
    ) -> None:
        """Begin a grading, once the one before it has been told of; options as a grading has."""
        self._wanted.set()
        self._thread.join()  # all that it may still do is make a worker ready
        self._wanted.clear()
        if self._sandbox is not None:
            self._sandbox.stop.clear()
        self._thread = self._in_background(self._run, exercise, submission, maps, explain)

    def isolation(self) -> str:
        """The level of confinement that the next grading has; waits until one is in force.

        Raises:
            GraderFault: None can be had here.
        """
        self._thread.join()
        self._sandbox = self._sandbox or self._start()
        self._sandbox.stop.clear()
        return self._sandbox.isolation

    def stop(self) -> None:
        """End the grading under way; it is told of as None."""
        if self._sandbox is not None:
            self._sandbox.stop.set()

    def _in_background(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        return thread

    def _run(
        self, exercise: Exercise, submission: Submission, maps: bool, explain: Explain | None
    ) -> None:
        outcome = self._outcome(exercise, submission, maps, explain)
        if isinstance(outcome, GraderFault):  # the sandbox was lost: with a new one it may do
            outcome = self._outcome(exercise, submission, maps, explain)
        self._tell(exercise, submission, outcome)
        self._get_ready()
        if isinstance(outcome, Report) and not outcome.problem:
            self._foresee(exercise)

    def _outcome(
        self, exercise: Exercise, submission: Submission, maps: bool, explain: Explain | None
    ) -> Report | GradeError | None:
        try:
            return self._graded(exercise, submission, maps, explain)
        except KeyboardInterrupt:
            return None
        except GraderFault as fault:
            self._lose()
            return fault
        except GradeError as error:
            return error
        except Exception as error:
            self._lose()
            return GraderFault(f"a fault of the grader: {type(error).__name__}: {error}")

    def _graded(
        self, exercise: Exercise, submission: Submission, maps: bool, explain: Explain | None
    ) -> Report:
        from grader.grading import grade

        self._sandbox = self._sandbox or self._start()
        options = replace(self._options(), maps=maps, explain=explain)
        if options.seed is None:
            options = replace(options, seed=self._foreseen.pop(exercise.name, None))
        return grade(submission, exercise, options, self._sandbox)

    def _foresee(self, exercise: Exercise) -> None:
        """Draw the next grading of an exercise, and compute what will be right in it."""
        from grader.grading import draw_seed
        from grader.suite.runner import suite_runner

        if self._options().seed is None:
            seed = self._foreseen[exercise.name] = draw_seed()
            with suppress(GraderFault):  # it will be told of when the exercise is graded
                suite_runner(exercise.suite).foresee(seed, self._wanted)

    def _get_ready(self) -> None:
        """Import what grading needs, and have a worker stand ready."""
        import grader.grading  # noqa: F401  # the first time it takes a second

        try:
            if self._sandbox is not None:
                self._sandbox.prepare()
        except (GraderFault, KeyboardInterrupt):
            self._lose()

    def _lose(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None
