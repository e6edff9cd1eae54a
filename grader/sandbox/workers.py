"""The trusted side's view of a worker process: connection, output, end. No torch here."""

from __future__ import annotations

import functools
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from grader.errors import GraderFault, MachineBusy
from grader.sandbox.clock import POLL_INTERVAL_S, Clock, Meter
from grader.wire import frames
from grader.wire.greetings import Greeting
from grader.wire.messages import Request
from grader.wire.plain import one_line
from grader.wire.responses import Reply

MAX_OUTPUT_BYTES = 64 << 10  # that are kept until they are taken; more is dropped
WORKER_START_TIMEOUT_S = 120.0  # for a worker to confine itself and to initialize a GPU
MIN_WAIT_S = 0.01  # at least, before the next look


class WorkerEnded(Exception):
    """A worker has ended; the text says how, as a sentence without a subject.

    Attributes:
        where: Text on the situations in which it ends; empty where they are not known.
    """

    where = ""

    def __str__(self) -> str:
        return "\n".join(filter(None, (super().__str__(), self.where)))


class WorkerTimeout(WorkerEnded):
    """A worker took too long and was killed."""


class NotTried(WorkerTimeout):
    """A check or situation was not tried, because no time was left for it."""


class Stopped(KeyboardInterrupt):
    """The grading was cancelled from outside; its worker is killed."""


class Process(Protocol):
    """A worker's process, whether forked or spawned."""

    @property
    def pid(self) -> int:
        """The process ID."""

    def end(self) -> int:
        """Kill the process if it still lives, and all that it started; return its wait status."""

    def begin_end(self) -> None:
        """Do the same without waiting until nothing is left of it, which takes some 10 ms."""


class WorkerProcess:
    """One worker process and the connection to it.

    Args:
        start: Starts the process, given the other ends of a connection and of an output pipe.
        stop: Set by another thread to end the worker in the middle of a request.
    """

    def __init__(
        self, start: Callable[[socket.socket, int], Process], stop: threading.Event
    ) -> None:
        self._stop = stop
        self._connection, theirs = socket.socketpair()
        self._connection.setblocking(False)
        self._read_ahead = bytearray()
        self._pipe, pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self._output = bytearray()
        self._overflow = False
        self._silent = False  # whether the worker has closed its output
        self._number = 0  # of the last request; its reply has to carry the same number
        self._confined = False  # until the worker says so
        self._status = 0
        self.alive = True
        try:
            self._process = start(theirs, pipe)
            self._meter = Meter(self._process.pid)
        finally:
            theirs.close()
            os.close(pipe)

    def send(self, request: Request, clock: Clock, body: Sequence[bytes] = ()) -> None:
        """Send a request.

        Args:
            request: The request; its number and its seconds are set here.
            clock: The clock of the check that asks.
            body: The bytes of the steps' tensors.

        Raises:
            WorkerEnded: The worker sent an answer to no request, does not read, or is gone.
            MachineBusy: The machine has no time for the worker.
        """
        if self._confined and self._read_ahead:
            raise self.reject("it belongs to no request")
        self._number += 1
        request.number = self._number
        request.seconds = max(clock.seconds_left, 0.0)
        data = memoryview(frames.pack(request, *body))
        while data:
            try:
                data = data[self._connection.send(data) :]
            except BlockingIOError:
                self._wait(clock, to_send=True)
            except OSError:
                raise self._ended() from None

    def receive(self, clock: Clock) -> tuple[Reply, frames.Buffer]:
        """Receive the reply to the last request, by the clock of the check that asks.

        Raises:
            WorkerTimeout: No reply came in time; the worker is killed.
            WorkerEnded: The worker crashed or exited, or its reply was malformed.
            MachineBusy: The machine has no time for the worker, which is killed.
            Stopped: The sandbox was told to stop.
        """
        try:
            if not self._confined:
                self._greet()
                self._meter.read(clock)
                self._look_at(clock)
            receive = functools.partial(self._exactly, clock=clock)
            reply, body = frames.unpack(receive, frames.MAX_REPLY_HEADER_BYTES, Reply)
        except frames.BadFrame as problem:
            raise self.reject(str(problem)) from None
        if reply.number != self._number:
            raise self.reject("it belongs to no request")
        if reply.spent:
            self.kill()  # the next request is sent to another worker
        return reply, body

    def _greet(self) -> None:
        """Receive the greeting that a worker sends before it has seen a line of the submission.

        The time until then (seconds, with a GPU) is not charged to the submission.
        """
        clock = Clock(WORKER_START_TIMEOUT_S)
        receive = functools.partial(self._exactly, clock=clock)
        try:
            greeting = frames.unpack(receive, frames.MAX_REPLY_HEADER_BYTES, Greeting)[0]
        except WorkerTimeout:
            raise GraderFault(f"a worker was not ready in {WORKER_START_TIMEOUT_S:.0f} s") from None
        if greeting.refused:
            self.kill()
            raise GraderFault(f"a worker could not confine itself: {greeting.refused}")
        self._meter.begin(greeting.cpu_seconds)  # later time may be the submission's
        self._confined = True

    @property
    def gone(self) -> bool:
        """Whether the process has closed its connection while no request was under way."""
        waiting = select.poll()
        waiting.register(self._connection, 0)  # a hang-up is reported without being asked for
        return bool(waiting.poll(0))

    def reject(self, problem: str) -> WorkerEnded:
        """Kill a worker whose answer is not valid; return the error to raise for it."""
        self.kill()
        return WorkerEnded(f"gave an answer that cannot be read: {one_line(problem, 200)}")

    def take_output(self) -> str:
        """Return what the worker printed since the last call; a last line says if it was cut."""
        self._drain()
        text = self._output.decode("utf-8", errors="replace")
        if self._overflow:
            text += f"\n… (cut at {MAX_OUTPUT_BYTES >> 10} KiB)\n"
        self._output.clear()
        self._overflow = False
        return text

    def kill(self) -> None:
        """Kill the process and all that it started; what it printed can still be taken."""
        if self.alive:
            self.alive = False
            self._status = self._process.end()
            self._drain()
            self._close()

    def let_go(self) -> None:
        """Kill the process as ``kill`` does, without waiting for that; what it printed is lost."""
        if self.alive:
            self.alive = False
            self._process.begin_end()
            self._close()

    def _close(self) -> None:
        self._connection.close()
        os.close(self._pipe)
        self._pipe = -1

    def _exactly(self, count: int, clock: Clock) -> bytearray:
        """Receive exactly ``count`` bytes; what comes beyond them in one read is kept for later."""
        data, self._read_ahead = self._read_ahead[:count], self._read_ahead[count:]
        while len(data) < count:
            self._wait(clock)
            try:
                part = self._connection.recv(1 << 16)
            except OSError:
                part = b""
            if not part:
                raise self._ended()
            room = count - len(data)
            data += part[:room]
            self._read_ahead += part[room:]
        return data

    def _wait(self, clock: Clock, to_send: bool = False) -> None:
        """Wait for the connection, and read the output meanwhile: a full pipe would block."""
        connection = self._connection.fileno()
        while True:
            self._look_at(clock)
            wanted = [connection] if self._silent else [connection, self._pipe]
            sending = [connection] if to_send else []
            most = max(min(clock.seconds_left, POLL_INTERVAL_S), MIN_WAIT_S)
            began = time.monotonic()
            ready, writable, _ = select.select(wanted, sending, [], most)
            # A longer wait means that this process itself was stopped, say by Ctrl-Z: not charged.
            self._meter.read(clock, min(time.monotonic() - began, most))
            if self._pipe in ready:
                self._drain_once()
            if writable or connection in ready:
                return

    def _look_at(self, clock: Clock) -> None:
        """Kill the worker and raise if its time is up, the machine too busy, or ``stop`` set."""
        if clock.seconds_left <= 0:
            raise self._timed_out()
        try:
            clock.raise_if_machine_busy()
        except MachineBusy:
            self.kill()
            raise
        if self._stop.is_set():
            self.kill()
            raise Stopped

    def _drain(self) -> None:
        while self._pipe >= 0 and self._drain_once():
            pass

    def _drain_once(self) -> bool:
        try:
            part = os.read(self._pipe, 1 << 16)
        except BlockingIOError:
            return False
        self._silent = not part
        room = MAX_OUTPUT_BYTES - len(self._output)
        self._overflow |= len(part) > room
        self._output += part[:room]
        return bool(part)

    def _timed_out(self) -> WorkerTimeout:
        self.kill()
        return WorkerTimeout("took too long and was stopped")

    def _ended(self) -> WorkerEnded:
        if not self.alive:
            return WorkerEnded("had already ended")
        self.kill()  # it may only have closed its connection; a kill changes no status already set
        status = self._status
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            names = {int(known): known.name for known in signal.Signals}
            ended = names.get(number, f"signal {number}")
            return WorkerEnded(f"crashed: its process was ended by {ended}")
        return WorkerEnded(f"ended its process with exit status {os.WEXITSTATUS(status)}")
