"""A submission of ours, carried out in this process: no wall, so only for what we wrote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import ModuleType

from grader.diagnosis.replay import FILE, bounded
from grader.sandbox.clock import Clock
from grader.sandbox.workers import Stopped, WorkerEnded
from grader.wire import frames, messages
from grader.worker.handler import RequestHandler


class OwnSandbox:
    """Gives out workers that are none, as ``Session`` needs them.

    Args:
        make: Makes the module that a worker answers from.
        stop: Set by another thread to end what is under way.
    """

    def __init__(self, make: Callable[[], ModuleType], stop: threading.Event) -> None:
        self._make = make
        self.stop = stop

    def worker(self) -> OwnWorker:
        """One that has just been started."""
        return OwnWorker(self._make(), self.stop)


class OwnWorker:
    """Answers as a worker does, at once.

    Args:
        module: What stands in the place of a submission.
        stop: Ends it before the next request.
    """

    alive = True

    def __init__(self, module: ModuleType, stop: threading.Event) -> None:
        self._handler = _OwnHandler()
        self._handler.module, self._handler.filename = module, FILE
        self._stop = stop
        self._answer = b""
        self._number = 0

    def send(self, request: messages.Request, clock: Clock, body: Sequence[bytes] = ()) -> None:
        """Carry out a request; no clock runs, what is planted ends."""
        if self._stop.is_set():
            raise Stopped
        self._number += 1
        request.number = self._number
        self._answer = self._handler.answer(request, b"".join(body))

    def receive(self, clock: Clock) -> tuple[messages.Reply, frames.Buffer]:
        """What came of it."""
        left = memoryview(self._answer)

        def take(count: int) -> bytearray:
            nonlocal left
            taken, left = left[:count], left[count:]
            return bytearray(taken)

        return frames.unpack(take, frames.MAX_REPLY_HEADER, messages.Reply)

    def reject(self, problem: str) -> WorkerEnded:
        """The error to raise for an answer that cannot be believed."""
        return WorkerEnded(f"gave an answer that cannot be read: {problem}")

    def take_output(self) -> str:
        """Nothing: what it prints is not looked at."""
        return ""

    def kill(self) -> None:
        """Let everything go."""
        self._handler = _OwnHandler()


class _OwnHandler(RequestHandler):
    def carry_out(self, step: messages.Step, data: memoryview) -> messages.Answer:
        with bounded():
            return super().carry_out(step, data)

    def do_load(self, load: messages.Load, tensors: object) -> messages.Answer:
        """Settle where tensors lie; the module is there already."""
        self.settle(load.device)
        return messages.Done()
