"""The processes: a template for a session, and the workers that it forks. No torch here."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import select
import shutil
import signal
import site
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Self

import msgspec

from grader.errors import GraderFault
from grader.sandbox.canary import check_walls
from grader.sandbox.wire import frames
from grader.sandbox.wire.levels import LEVELS, Confinement, Limits

MAX_OUTPUT = 64 << 10
START_SECONDS = 120.0  # a cold disk may take long to give torch


class WorkerEnded(Exception):
    """A worker is gone; the text says how, as a sentence without a subject."""


class WorkerTimeout(WorkerEnded):
    """A worker took too long and was killed."""


class Worker:
    """One worker process and the connection to it.

    Attributes:
        output: What it printed and nobody took yet, cut at 64 KiB.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._connection, theirs = socket.socketpair()
        self._connection.setblocking(False)
        self._read_ahead = bytearray()
        self._pipe, pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self._output = bytearray()
        self._overflow = False
        self._silent = False  # it has closed its output
        self._number = 0  # of the last request, which its answer has to bear
        self._confined = False  # until it says so
        self._status = 0
        self.alive = True
        try:
            self._process = sandbox._start_worker(theirs, pipe)
        finally:
            theirs.close()
            os.close(pipe)

    def send(self, header: dict[str, Any], body: bytes = b"", deadline: float = 0.0) -> None:
        """Send a request.

        Args:
            header: The operation (``do``) and what it needs.
            body: Its tensors.
            deadline: On the monotonic clock, in seconds.

        Raises:
            WorkerEnded: It has answered what it was not asked, does not take it, or is gone.
        """
        if self._confined and (self._read_ahead or self._peek()):
            raise self.distrust("it belongs to no request")
        self._number += 1
        data = memoryview(frames.pack({**header, "number": self._number}, body))
        while data:
            try:
                data = data[self._connection.send(data) :]
            except BlockingIOError:
                self._wait(deadline, to_send=True)
            except OSError:
                raise self._ended() from None

    def receive(self, deadline: float) -> tuple[dict[str, Any], bytes]:
        """Receive the answer to a request; ``deadline`` is on the monotonic clock, in seconds.

        Raises:
            WorkerTimeout: No answer came in time; the worker is killed.
            WorkerEnded: It crashed or exited, or its answer was no frame of ours.
        """
        try:
            receive = functools.partial(self._exactly, deadline=deadline)
            if not self._confined:
                self._greet(frames.unpack(receive, frames.MAX_REPLY_HEADER)[0])
            header, body = frames.unpack(receive, frames.MAX_REPLY_HEADER)
        except frames.BadFrame as problem:
            raise self.distrust(str(problem)) from None
        if header.get("number") != self._number:
            raise self.distrust("it belongs to no request")
        self._drain()
        return header, body

    def _greet(self, hello: dict[str, Any]) -> None:
        """Take a worker's first words, said before it has seen a line of the submission."""
        if "refused" in hello:
            self.kill()
            raise GraderFault(f"a worker could not confine itself: {hello['refused']}")
        self._confined = True

    def distrust(self, problem: str) -> WorkerEnded:
        """End a worker whose answer cannot be believed; the error to raise for it."""
        self.kill()
        return WorkerEnded(f"gave an answer that cannot be read: {problem}")

    def take_output(self) -> str:
        """What the submission printed since the last time; cut, with a line that says so."""
        self._drain()
        text = self._output.decode("utf-8", errors="replace")
        if self._overflow:
            text += f"\n… (cut at {MAX_OUTPUT >> 10} KiB)\n"
        self._output.clear()
        self._overflow = False
        return text

    def kill(self) -> None:
        """End the process and all that it started; what it printed can still be taken."""
        if not self.alive:
            return
        self.alive = False
        self._status = self._process.end()
        self._drain()
        self._connection.close()
        os.close(self._pipe)
        self._pipe = -1

    def _exactly(self, count: int, deadline: float) -> bytes:
        while len(self._read_ahead) < count:
            try:
                part = self._connection.recv(1 << 16)
            except BlockingIOError:
                self._wait(deadline)
                continue
            except OSError:
                part = b""
            if not part:
                raise self._ended()
            self._read_ahead += part
        data = bytes(self._read_ahead[:count])
        del self._read_ahead[:count]
        return data

    def _wait(self, deadline: float, to_send: bool = False) -> None:
        """Wait for the connection, taking what is printed meanwhile: a full pipe would block."""
        connection = self._connection.fileno()
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._timed_out()
            wanted = [connection] if self._silent else [connection, self._pipe]
            sending = [connection] if to_send else []
            ready, writable, _ = select.select(wanted, sending, [], left)
            if self._pipe in ready:
                self._drain_once()
            if writable or connection in ready:
                return

    def _peek(self) -> bool:
        """Whether something is there to be read, and not only the end."""
        try:
            return bool(self._connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def _drain(self) -> None:
        while self._pipe >= 0 and self._drain_once():
            pass

    def _drain_once(self) -> bool:
        try:
            part = os.read(self._pipe, 1 << 16)
        except BlockingIOError:
            return False
        self._silent = not part
        room = MAX_OUTPUT - len(self._output)
        self._overflow |= len(part) > room
        self._output += part[:room]
        return bool(part)

    def _timed_out(self) -> WorkerTimeout:
        self.kill()
        return WorkerTimeout("took too long and was stopped")

    def _ended(self) -> WorkerEnded:
        if not self.alive:
            return WorkerEnded("had already ended")
        self.kill()  # it may have closed its connection only; a kill changes no status already set
        status = self._status
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            names = {int(known): known.name for known in signal.Signals}
            ended = names.get(number, f"signal {number}")
            return WorkerEnded(f"crashed: its process was ended by {ended}")
        return WorkerEnded(f"ended its process with exit status {os.WEXITSTATUS(status)}")


class Sandbox:
    """Gives out workers; a template process stands behind it where the platform can fork.

    One serves a whole session. Starting it returns at once: the template imports torch while
    the trusted side does the same.

    Args:
        isolation: A level of confinement, or ``auto`` for the strongest that the machine offers.
        limits: What a worker may take; the defaults of ``Limits`` where None.
        on_gpu: Whether workers need the devices of CUDA.
        spawn: Whether each worker is a fresh process instead of a fork.
    """

    def __init__(
        self,
        isolation: str = "auto",
        limits: Limits | None = None,
        on_gpu: bool = False,
        spawn: bool = sys.platform != "linux",
    ) -> None:
        if sys.platform == "win32":
            raise GraderFault("grading needs Linux or macOS; on Windows, run it in WSL")
        if spawn and isolation not in ("auto", "process"):
            raise GraderFault(
                f"isolation `{isolation}` needs Linux; this system has `process` only"
            )
        levels = [level for level in LEVELS if isolation in ("auto", level)]
        self._confinement = Confinement(levels, limits or Limits(), on_gpu, _import_paths(), spawn)
        self.on_gpu = on_gpu
        self.spawns = spawn
        self._lock = threading.Lock()
        self._hello: dict[str, Any] = {"level": "process", "refused": {}} if spawn else {}
        self._checked = False
        if not spawn:
            self._control, theirs = socket.socketpair()
            with theirs:
                self._template = _launch(theirs, self._confinement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def isolation(self) -> str:
        """The level of confinement in force; waits until the template is up.

        Raises:
            GraderFault: The level that was asked for cannot be had here.
        """
        if not self._hello:
            self._hello = self._receive()
        if not self._hello["level"]:
            reasons = "; ".join(f"`{k}`: {v}" for k, v in self._hello["refused"].items())
            raise GraderFault(f"isolation cannot be had here: {reasons}; see `grade doctor`")
        return str(self._hello["level"])

    @property
    def refused(self) -> dict[str, str]:
        """Why each stronger level cannot be had here."""
        return dict(self._hello["refused"]) if self.isolation else {}

    def worker(self) -> Worker:
        """A fresh worker, ready to be sent a submission.

        Raises:
            GraderFault: The template is gone or did not start, or a canary found a wall open.
        """
        if not self._checked:
            self._checked = True
            check_walls(self, Worker(self))
        return Worker(self)

    def close(self) -> None:
        """End the template; it ends what it forked."""
        if not self.spawns:
            self._control.close()
            try:
                self._template.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._template.kill()
                self._template.wait()

    def _start_worker(self, theirs: socket.socket, pipe: int) -> _Process:
        if self.spawns:
            return _Spawned(_launch(theirs, self._confinement, stdout=pipe))
        assert self.isolation
        answer = self._ask(b"fork", [theirs.fileno(), pipe])
        if "refused" in answer:
            raise GraderFault(f"no worker can be started: {answer['refused']}")
        return _Forked(self, answer["pid"])

    def _ask(self, message: bytes, descriptors: list[int]) -> dict[str, Any]:
        with self._lock:
            try:
                socket.send_fds(self._control, [message], descriptors)
            except OSError:
                raise _template_gone() from None
            return self._receive()

    def _receive(self) -> dict[str, Any]:
        def receive(count: int) -> bytes:
            data = self._control.recv(count, socket.MSG_WAITALL)
            if len(data) < count:
                raise ConnectionError
            return data

        try:
            self._control.settimeout(START_SECONDS)
            return frames.unpack(receive, frames.MAX_REPLY_HEADER)[0]
        except OSError:
            raise _template_gone() from None


def _template_gone() -> GraderFault:
    return GraderFault(
        "the grader's template process is gone or did not start; "
        f"`{sys.executable} -c 'import torch'` shows whether torch itself works"
    )


class _Process:
    """A worker's process."""

    def end(self) -> int:
        """Kill it if it still lives, and all that it started; how it ended, as a wait status."""
        raise NotImplementedError


class _Forked(_Process):
    def __init__(self, sandbox: Sandbox, pid: int) -> None:
        self._sandbox = sandbox
        self._pid = pid

    def end(self) -> int:
        return int(self._sandbox._ask(f"end {self._pid}".encode(), [])["status"])


class _Spawned(_Process):
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def end(self) -> int:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        for folder in Path(tempfile.gettempdir()).glob(f"grade-{self._process.pid}-*"):
            shutil.rmtree(folder, ignore_errors=True)
        return -code if code < 0 else code << 8


def _launch(
    connection: socket.socket, confinement: Confinement, stdout: int | None = None
) -> subprocess.Popen[bytes]:
    """Start the worker side, with an environment of nothing but what torch needs."""
    environment = {
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(_import_paths()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": tempfile.gettempdir(),
    }
    number = str(connection.fileno())
    words = msgspec.json.encode(confinement).decode()
    return subprocess.Popen(
        [sys.executable, "-P", "-s", "-m", "grader.sandbox.inside.template", number, words],
        cwd="/",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=None if stdout is None else stdout,
        pass_fds=[connection.fileno()],
        start_new_session=True,
    )


def _import_paths() -> list[str]:
    """Where this process found what the worker side imports, beyond what Python looks up itself."""
    found = [
        importlib.util.find_spec(name) for name in ("grader", "msgspec", "safetensors", "torch")
    ]
    folders = {str(Path(spec.origin).parents[1]) for spec in found if spec and spec.origin}
    return sorted(folders - set(site.getsitepackages()))
