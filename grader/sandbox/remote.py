"""A submission in a worker, as the trusted side sees it: its clock, its requests, its errors."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from torch import Tensor

from grader.sandbox.answers import Answer, read_answer, read_several
from grader.sandbox.faults import SubmissionError, SubmissionRefused
from grader.sandbox.modules import RemoteFunction, RemoteModule
from grader.sandbox.process import Sandbox
from grader.sandbox.requests import Request, creation
from grader.sandbox.wire import values
from grader.sandbox.workers import Worker, WorkerEnded, WorkerTimeout
from grader.submission import Submission

SHORTER = 20  # after a check that took too long, the others get this part of its limit

_T = TypeVar("_T")


class RemoteSubmission:
    """A submission in a worker: a fresh one after a time-out or a crash.

    What it does to its inputs happens to copies: nothing that a check holds is ever changed by it.

    Args:
        sandbox: Gives out the workers.
        submission: What is loaded into them.
        timeout: Wall-clock limit of one check, loading included, in seconds; a twentieth of it
            for the checks after one that took longer, and as long as loading took.
        budget: Wall-clock limit of all checks together, in seconds.
    """

    def __init__(
        self, sandbox: Sandbox, submission: Submission, timeout: float, budget: float
    ) -> None:
        self._sandbox = sandbox
        self._submission = submission
        self._timeout = timeout
        self._limit = timeout  # of the checks to come: less, once one has taken too long
        self._left = budget
        self._worker: Worker | None = None
        self._loading = False
        self._load_seconds = 0.0  # that the source takes to run
        self._load_error: Exception | None = None
        self._started = self._deadline = 0.0
        self._drop: list[int] = []
        self._seed: int | None = None  # not yet sent
        self._numbers = itertools.count(1)
        self.said_on_load: str | None = None  # None until the source has run for the first time

    def start(self) -> None:
        """Ask for a worker and send it the source; the answer is taken when it is needed."""
        self._worker = self._sandbox.worker()  # the first waits until the template is up
        self._started = time.monotonic()
        self._deadline = self._started + self._limit
        self._drop = []
        self._loading = True
        header = {"do": "load", "source": self._submission.source, "filename": self.name}
        self._worker.send(header, deadline=self._deadline)

    @property
    def source(self) -> str:
        """The text that is loaded."""
        return self._submission.source

    def rewritten(self, source: str) -> RemoteSubmission:
        """A submission of the same name with another text; whoever asks for it closes it."""
        other = Submission(self._submission.path, source)
        return RemoteSubmission(self._sandbox, other, self._timeout, max(self._left, 0.0))

    def refuse(self, reason: Exception) -> None:
        """Try no check of this submission: each will raise ``reason``."""
        self._load_error = reason

    @property
    def load_error(self) -> Exception | None:
        """Why no check can be tried: what ``refuse`` was given, or how the source failed."""
        return self._load_error

    @property
    def name(self) -> str:
        """The file's name in tracebacks."""
        return self._submission.name

    def load(self) -> None:
        """Wait until the source has run; one that failed the first time is not tried again.

        Raises:
            SubmissionError: It raised an exception.
            WorkerEnded: It crashed, exited or took too long.
        """
        if self._load_error is not None:
            raise self._load_error.with_traceback(None)  # each raise adds to it
        if self._worker is None or not self._worker.alive:
            self.start()
        if self._loading:
            self._loading = False
            try:
                self._receive(read_answer)
                self._load_seconds = time.monotonic() - self._started
            except (SubmissionError, WorkerEnded) as error:
                if self.said_on_load is None:  # else it has run before
                    self._load_error = error
                raise
            finally:
                if self.said_on_load is None:
                    self.said_on_load = self.take_output()

    def begin_check(self, seed: int) -> None:
        """Start the clock of a check, with a living worker whose random numbers are seeded.

        Raises:
            SubmissionError: The source raised an exception when it was loaded.
            WorkerEnded: It crashed, exited or took too long, or no time is left for this check.
        """
        if self._left <= 0:
            raise WorkerTimeout("was not tried: earlier checks took all the time there is")
        self._deadline = time.monotonic() + min(self._limit, self._left)
        self.load()
        self.seed(seed)

    def end_check(self, seconds: float) -> str:
        """Stop the clock of a check; what the submission printed in it."""
        self._left -= seconds
        if seconds >= self._limit:
            self._limit = self._timeout / SHORTER + self._load_seconds
        return self.take_output()

    def take_output(self) -> str:
        """What the submission printed since the last time."""
        return self._worker.take_output() if self._worker else ""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Meanwhile, whatever is asked of the submission in another thread raises ``Stopped``."""
        self._sandbox.stop.set()
        try:
            yield
        finally:
            self._sandbox.stop.clear()

    def seed(self, seed: int) -> None:
        """Seed torch's random numbers in the worker, with the next request."""
        self._seed = seed

    def create(self, name: str, *args: Any, **kwargs: Any) -> RemoteModule:
        """Construct a module of the submission.

        Args:
            name: Its class.
            args: Of the constructor.
            kwargs: Of the constructor.

        Raises:
            SubmissionError: The constructor raised an exception.
            SubmissionRefused: There is no such class, or it is no ``nn.Module``.
        """
        number = self.number()
        answer, sent = self.request(*creation(number, name, args, kwargs, told=True))
        return RemoteModule(self, number, name, answer, sent)

    def function(self, name: str) -> RemoteFunction:
        """A plain function of the submission."""
        return RemoteFunction(self, name)

    def number(self) -> int:
        """A number for an object or a graph that a request is to make."""
        return next(self._numbers)

    def request(self, header: dict[str, Any], tensors: Sequence[Tensor] = ()) -> Answer:
        """Send a request and take its answer.

        Raises:
            SubmissionError: The submission raised an exception.
            SubmissionRefused: It is not of the shape that the request needs.
            WorkerEnded: It crashed, exited, took too long, or answered nonsense.
        """
        specs, body = values.dump_tensors(list(tensors), strided=True)
        self._send({**header, "tensors": specs}, body)
        return self._receive(read_answer)

    def several(self, requests: Sequence[Request]) -> list[Answer | Exception]:
        """Send several requests as one, which takes a fraction of the time.

        Returns:
            Their answers, up to the first that failed: for that one, what ``request`` raises.

        Raises:
            WorkerEnded: The worker crashed, exited, took too long, or answered nonsense.
        """
        headers, parts = [], []
        for header, tensors in requests:
            specs, body = values.dump_tensors(list(tensors), strided=True)
            headers.append({**header, "tensors": specs, "size": len(body)})
            parts.append(body)
        self._send({"several": headers}, b"".join(parts))
        return self._receive(lambda header, body: read_several(header, body, len(requests)))

    def forget(self, number: int, worker: Worker) -> None:
        """Let an object of a worker go, with the next request to that worker."""
        if worker is self._worker:
            self._drop.append(number)

    @property
    def worker(self) -> Worker:
        """The worker that the last request went to."""
        assert self._worker is not None
        return self._worker

    def _send(self, header: dict[str, Any], body: bytes) -> None:
        if self._worker is None or not self._worker.alive:
            raise WorkerEnded("had already ended")
        if self._seed is not None:
            header["seed"], self._seed = self._seed, None
        if self._drop:
            header["drop"], self._drop = self._drop, []
        self._worker.send(header, body, self._deadline)

    def _receive(self, read: Callable[[dict[str, Any], bytes], _T]) -> _T:
        header, body = self.worker.receive(self._deadline)
        try:
            return read(header, body)
        except (SubmissionError, SubmissionRefused):
            raise
        except Exception as problem:  # an answer that was made to break us may do it in any way
            raise self.worker.distrust(str(problem)[:200]) from None

    def believe(self, build: Callable[[], _T]) -> _T:
        """Take an answer apart; a worker whose answer has another form is ended.

        Raises:
            WorkerEnded: The answer had another form.
        """
        try:
            return build()
        except Exception as problem:  # an answer that was made to break us may do it in any way
            raise self.worker.distrust(f"{type(problem).__name__}: {problem}"[:200]) from None
