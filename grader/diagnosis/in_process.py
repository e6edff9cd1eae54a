"""Run code in a submission's place in this process: without a sandbox, so only our own code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import ModuleType

from grader.diagnosis.replay import SOLUTION_FILENAME, instruction_limit
from grader.sandbox.clock import Clock
from grader.sandbox.workers import Stopped, WorkerEnded
from grader.wire import frames, messages, responses
from grader.worker.handler import RequestHandler


class InProcessSandbox:
    """A stand-in for a sandbox, whose workers run in this process; for ``Session``.

    Args:
        make: Makes the module that a worker answers from.
        stop: Event that another thread sets to end what is running.
    """

    def __init__(self, make: Callable[[], ModuleType], stop: threading.Event) -> None:
        self._make = make
        self.stop = stop

    def worker(self) -> InProcessWorker:
        """Return a new worker with a new module."""
        return InProcessWorker(self._make(), self.stop)


class InProcessWorker:
    """A stand-in for a worker, which answers at once in this process.

    Args:
        module: Module that takes the submission's place.
        stop: Event that ends the worker before its next request.
    """

    alive = True

    def __init__(self, module: ModuleType, stop: threading.Event) -> None:
        self._handler = _BoundedHandler()
        self._handler.module, self._handler.filename = module, SOLUTION_FILENAME
        self._stop = stop
        self._answer = b""
        self._number = 0

    def send(self, request: messages.Request, clock: Clock, body: Sequence[bytes] = ()) -> None:
        """Carry out a request without the clock: ``instruction_limit`` ends what runs too long."""
        if self._stop.is_set():
            raise Stopped
        self._number += 1
        request.number = self._number
        self._answer = self._handler.answer(request, b"".join(body))

    def receive(self, clock: Clock) -> tuple[responses.Reply, frames.Buffer]:
        """Return the reply to the last request."""
        left = memoryview(self._answer)

        def take(count: int) -> bytearray:
            nonlocal left
            taken, left = left[:count], left[count:]
            return bytearray(taken)

        return frames.unpack(take, frames.MAX_REPLY_HEADER_BYTES, responses.Reply)

    def reject(self, problem: str) -> WorkerEnded:
        """Return the error to raise for an answer that ``problem`` says is not valid."""
        return WorkerEnded(f"gave an answer that cannot be read: {problem}")

    def take_output(self) -> str:
        """Return an empty string: what the module prints is not looked at."""
        return ""

    def let_go(self) -> None:
        """Drop everything that the worker holds."""
        self._handler = _BoundedHandler()


class _BoundedHandler(RequestHandler):
    def carry_out(self, step: messages.Step, data: memoryview) -> responses.Answer:
        with instruction_limit():
            return super().carry_out(step, data)

    def do_load(self, load: messages.Load, tensors: object) -> responses.Answer:
        """Set the device that tensors lie on; the module is already loaded."""
        self.settle(load.device)
        return responses.Done()
