"""Grade submissions one after the other, and stop a grading when its caller no longer waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, from_thread, to_thread
from anyio.lowlevel import EventLoopToken, current_token

from grader.errors import GradeError
from grader.kit import Exercise
from grader.practice.background_grader import BackgroundGrader
from grader.records import Explain, Report
from grader.sandbox.process import Sandbox
from grader.submission import Submission

if TYPE_CHECKING:
    from grader.grading import Options
    from grader.records.progress import Progress

ProgressCallback = Callable[[int, int], Awaitable[None]]


@dataclass
class _PendingGrading:
    """A grading that a caller waits for; only the event loop's thread changes it."""

    token: EventLoopToken
    seed: int | None
    changed: anyio.Event = field(default_factory=anyio.Event)
    done: tuple[int, int] = (0, 0)
    ended: bool = False
    outcome: Report | GradeError | None = None

    def note(self, progress: Progress) -> None:
        # A retry in a new sandbox repeats counts that were told before.
        if progress.unit == "checks" and progress.done > self.done[0]:
            self.done = progress.done, progress.total
            self.changed.set()

    def end(self, outcome: Report | GradeError | None) -> None:
        self.ended, self.outcome = True, outcome
        self.changed.set()


class SharedGrader:
    """A grader, with a sandbox that is kept running, which concurrent tool calls share.

    Args:
        start: Starts a sandbox, and a new one if that is lost.
        device: Device of the tensors, as in ``Options``.
        timeout: Limit of one check, in seconds of the submission's processor time.

    Attributes:
        lock: Held by a tool from looking at the rules to the end of its grading.
    """

    def __init__(self, start: Callable[[], Sandbox], device: str, timeout: float) -> None:
        self.lock = anyio.Lock()
        self._device, self._timeout = device, timeout
        self._current: _PendingGrading | None = None
        self._grader = BackgroundGrader(start, self._options, self._on_outcome)

    async def grade(
        self,
        exercise: Exercise,
        submission: Submission,
        explain: Explain,
        progress: ProgressCallback | None = None,
        seed: int | None = None,
        confined: bool = False,
    ) -> Report:
        """Grade a submission for a holder of ``lock``; kill its process if the caller is cancelled.

        Args:
            exercise: The exercise to grade the submission as.
            submission: The source.
            explain: How much to tell of a mistake.
            progress: Called after each check with the number of checks done, and of all.
            seed: Seed of every input; None for a fresh one.
            confined: Whether to refuse where a submission could read files.

        Raises:
            GradeError: The submission cannot be graded, or the grading was stopped.
        """
        self._current = current = _PendingGrading(current_token(), seed)
        await to_thread.run_sync(self._begin, exercise, submission, explain, confined)
        try:
            while not current.ended:
                await current.changed.wait()
                current.changed = anyio.Event()
                if progress is not None and not current.ended:
                    await progress(*current.done)
        except BaseException:
            self._grader.stop()
            with CancelScope(shield=True):
                while not current.ended:
                    await current.changed.wait()
                    current.changed = anyio.Event()
            raise
        if current.outcome is None:
            raise GradeError("the grading was stopped")
        if isinstance(current.outcome, GradeError):
            raise current.outcome
        return current.outcome

    def close(self) -> None:
        """Close the grader, and with it the submission's process."""
        self._grader.__exit__()

    def _begin(
        self, exercise: Exercise, submission: Submission, explain: Explain, confined: bool
    ) -> None:
        if confined and self._grader.isolation() == "process":
            raise GradeError(
                "on this machine a submission may read files, so only the learner's own is graded; "
                "`grade doctor` says what is missing"
            )
        self._grader.grade(exercise, submission, explain=explain)

    def _options(self) -> Options:
        from grader.grading import Options

        assert self._current is not None
        return Options(
            *(self._current.seed, self._device, self._timeout),
            progress=self._in_loop(self._current.note),
        )

    def _on_outcome(
        self, exercise: Exercise, submission: Submission, outcome: Report | GradeError | None
    ) -> None:
        assert self._current is not None
        self._in_loop(self._current.end)(outcome)

    def _in_loop(self, work: Callable[..., None]) -> Callable[..., None]:
        """Wrap a function to run in the event loop's thread; it does nothing once the loop ends."""
        assert self._current is not None
        token = self._current.token

        def do(*arguments: object) -> None:
            with suppress(anyio.RunFinishedError):
                from_thread.run_sync(work, *arguments, token=token)

        return do


@asynccontextmanager
async def open_shared_grader(
    start: Callable[[], Sandbox], device: str, timeout: float
) -> AsyncIterator[SharedGrader]:
    """Open a bench, the grader that all tools share; end its processes when the context ends."""
    bench = SharedGrader(start, device, timeout)
    try:
        yield bench
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(bench.close)
