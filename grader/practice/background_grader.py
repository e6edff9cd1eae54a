"""Grade in the background: one warm sandbox, and one file at a time in a thread of its own."""

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
from grader.wire.imports import uncollected

if TYPE_CHECKING:
    from grader.grading import Options

OnOutcome = Callable[[Exercise, Submission, Report | GradeError | None], None]


class BackgroundGrader:
    """A grader in the background that can be stopped at any time; a context manager.

    Args:
        start: Starts a sandbox, and a new one if that is lost.
        options: Returns how to grade; called only once torch has been imported.
        on_outcome: Called in the grader's own thread with the outcome of each grading: a report or
            an error, or None if it was stopped.
    """

    def __init__(
        self, start: Callable[[], Sandbox], options: Callable[[], Options], on_outcome: OnOutcome
    ) -> None:
        self._start = start
        self._options = options
        self._on_outcome = on_outcome
        self._sandbox: Sandbox | None = start()
        self._next_seeds: dict[str, int] = {}  # the seed of the next grading, by exercise
        self._stop_foreseeing = threading.Event()  # set when a grading is to begin
        self._thread = self._in_background(self._get_ready)

    def __enter__(self) -> BackgroundGrader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self._stop_foreseeing.set()
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
        """Begin a grading in the background, once the previous one has ended.

        ``on_outcome`` is called with its outcome. `maps` and `explain` are as in ``Options``.
        """
        self._stop_foreseeing.set()
        self._thread.join()  # by now the thread at most prepares a worker or computes ahead
        self._stop_foreseeing.clear()
        if self._sandbox is not None:
            self._sandbox.stop.clear()
        self._thread = self._in_background(self._run, exercise, submission, maps, explain)

    def isolation(self) -> str:
        """Return the isolation level of the next grading, after waiting for a sandbox.

        Raises:
            GraderFault: This machine offers no level.
        """
        self._thread.join()
        self._sandbox = self._sandbox or self._start()
        self._sandbox.stop.clear()
        return self._sandbox.isolation

    def stop(self) -> None:
        """Stop the grading under way; ``on_outcome`` is then called with None as its outcome."""
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
        if isinstance(outcome, GraderFault):  # the sandbox was lost: try once more in a new one
            outcome = self._outcome(exercise, submission, maps, explain)
        self._on_outcome(exercise, submission, outcome)
        self._get_ready()
        if isinstance(outcome, Report) and not outcome.problem:
            self._foresee(exercise)

    def _outcome(
        self, exercise: Exercise, submission: Submission, maps: bool, explain: Explain | None
    ) -> Report | GradeError | None:
        try:
            from grader.grading import grade

            self._sandbox = self._sandbox or self._start()
            options = replace(self._options(), maps=maps, explain=explain)
            if options.seed is None:
                options = replace(options, seed=self._next_seeds.pop(exercise.name, None))
            return grade(submission, exercise, options, self._sandbox)
        except KeyboardInterrupt:
            return None
        except GraderFault as fault:
            self._drop_sandbox()
            return fault
        except GradeError as error:
            return error
        except Exception as error:
            self._drop_sandbox()
            return GraderFault(f"a fault of the grader: {type(error).__name__}: {error}")

    def _foresee(self, exercise: Exercise) -> None:
        """Draw the seed of an exercise's next grading, and compute its right answers ahead.

        What was computed ahead for another exercise is dropped: it takes 50 MB.
        """
        from grader.grading import draw_seed
        from grader.suite.runner import suite_runner
        from grader.suite.situations.places import forget_situations

        if self._options().seed is None:
            forget_situations()
            self._next_seeds.clear()
            seed = self._next_seeds[exercise.name] = draw_seed()
            with suppress(GraderFault):  # the next grading of the exercise will report it
                suite_runner(exercise.suite).foresee(seed, self._stop_foreseeing)

    def _get_ready(self) -> None:
        """Import what grading needs, and start a worker in advance."""
        with uncollected():
            import grader.grading  # noqa: F401  # the first import takes a second

        try:
            if self._sandbox is not None:
                self._sandbox.prepare()
        except (GraderFault, KeyboardInterrupt):
            self._drop_sandbox()

    def _drop_sandbox(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None
