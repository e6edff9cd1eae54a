"""Where submissions are graded: one after the other, each of them given up when nobody waits."""

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
from grader.practice.session import Session
from grader.records import Explain, Report
from grader.sandbox.process import Sandbox
from grader.submission import Submission

if TYPE_CHECKING:
    from grader.grading import Options

Progress = Callable[[int, int], Awaitable[None]]


@dataclass
class _Grading:
    """A grading that is waited for; changed in the thread of the event loop alone."""

    token: EventLoopToken
    seed: int | None
    news: anyio.Event = field(default_factory=anyio.Event)
    done: tuple[int, int] = (0, 0)
    ended: bool = False
    outcome: Report | GradeError | None = None

    def note(self, done: int, of: int) -> None:
        if done > self.done[0]:  # one that begins again, in a new sandbox, has been told before
            self.done = done, of
            self.news.set()

    def end(self, outcome: Report | GradeError | None) -> None:
        self.ended, self.outcome = True, outcome
        self.news.set()


class Bench:
    """A warm session for all that is asked at once.

    Args:
        start: Starts a sandbox; again, should the first one be lost.
        device: Where tensors lie, as ``Options`` has it.
        timeout: Limit of one check, in seconds of the submission's processor time.

    Attributes:
        turn: Held while something is graded, with the rules that it is graded by.
    """

    def __init__(self, start: Callable[[], Sandbox], device: str, timeout: float) -> None:
        self.turn = anyio.Lock()
        self._device, self._timeout = device, timeout
        self._now: _Grading | None = None
        self._session = Session(start, self._options, self._tell)

    async def grade(
        self,
        exercise: Exercise,
        submission: Submission,
        explain: Explain,
        progress: Progress | None = None,
        seed: int | None = None,
        confined: bool = False,
    ) -> Report:
        """Grade in turn; if the caller is cancelled, the submission's process is killed.

        Args:
            exercise: What it is graded as.
            submission: The source.
            explain: How much is told of a mistake.
            progress: Is told after each check how many are done, and of how many.
            seed: Draws every input; None for a fresh one.
            confined: Whether it may run only where no file can be read.

        Raises:
            GradeError: It cannot be graded.
        """
        self._now = now = _Grading(current_token(), seed)
        await to_thread.run_sync(self._begin, exercise, submission, explain, confined)
        try:
            while not now.ended:
                await now.news.wait()
                now.news = anyio.Event()
                if progress is not None and not now.ended:
                    await progress(*now.done)
        except BaseException:
            self._session.stop()
            with CancelScope(shield=True):
                while not now.ended:
                    await now.news.wait()
                    now.news = anyio.Event()
            raise
        if now.outcome is None:
            raise GradeError("the grading was stopped")
        if isinstance(now.outcome, GradeError):
            raise now.outcome
        return now.outcome

    def close(self) -> None:
        """End the session, and with it the submission's process."""
        self._session.__exit__()

    def _begin(
        self, exercise: Exercise, submission: Submission, explain: Explain, confined: bool
    ) -> None:
        if confined and self._session.isolation() == "process":
            raise GradeError(
                "on this machine a submission may read files, so only the learner's own is graded; "
                "`grade doctor` says what is missing"
            )
        self._session.grade(exercise, submission, explain=explain)

    def _options(self) -> Options:
        from grader.grading import Options

        assert self._now is not None
        return Options(
            self._now.seed, self._device, self._timeout, progress=self._in_loop(self._now.note)
        )

    def _tell(
        self, exercise: Exercise, submission: Submission, outcome: Report | GradeError | None
    ) -> None:
        assert self._now is not None
        self._in_loop(self._now.end)(outcome)

    def _in_loop(self, work: Callable[..., None]) -> Callable[..., None]:
        """The same, done in the thread of the event loop, as long as there is one."""
        assert self._now is not None
        token = self._now.token

        def do(*arguments: object) -> None:
            with suppress(anyio.RunFinishedError):
                from_thread.run_sync(work, *arguments, token=token)

        return do


@asynccontextmanager
async def open_bench(
    start: Callable[[], Sandbox], device: str, timeout: float
) -> AsyncIterator[Bench]:
    """A bench, and none of its processes afterwards."""
    bench = Bench(start, device, timeout)
    try:
        yield bench
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(bench.close)
