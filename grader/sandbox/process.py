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
import time
from pathlib import Path
from typing import Any, Self

from grader.errors import GraderFault
from grader.sandbox.wire import frames

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
        self._folder = tempfile.mkdtemp(prefix="grade-")
        self._connection, theirs = socket.socketpair()
        self._pipe, pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self._output = bytearray()
        self._overflow = False
        self._number = 0  # of the last request, which its answer has to bear
        self.alive = True
        try:
            self._process = sandbox._start_worker(theirs, pipe, self._folder)
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
        if select.select([self._connection.fileno()], [], [], 0)[0] and self._peek():
            raise self.distrust("it belongs to no request")
        self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
        self._number += 1
        try:
            self._connection.sendall(frames.pack({**header, "number": self._number}, body))
        except TimeoutError:
            raise self._timed_out() from None
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
            header, body = frames.unpack(receive, frames.MAX_REPLY_HEADER)
        except frames.BadFrame as problem:
            raise self.distrust(str(problem)) from None
        if header.get("number") != self._number:
            raise self.distrust("it belongs to no request")
        self._drain()
        return header, body

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
        """End the process and remove its folder; what it printed can still be taken."""
        if not self.alive:
            return
        self.alive = False
        self._process.kill()
        self._drain()
        self._connection.close()
        os.close(self._pipe)
        self._pipe = -1
        shutil.rmtree(self._folder, ignore_errors=True)

    def _exactly(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._wait_readable(deadline)
            try:
                part = self._connection.recv(min(count - len(data), 1 << 20), socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if not part:
                raise self._ended()
            data += part
        return bytes(data)

    def _wait_readable(self, deadline: float) -> None:
        """Wait for the connection, taking what is printed meanwhile: a full pipe would block."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._timed_out()
            ready, _, _ = select.select([self._connection.fileno(), self._pipe], [], [], left)
            if self._pipe in ready and not self._drain_once():
                select.select([self._connection], [], [], left)  # it closed its output
            if self._connection.fileno() in ready:
                return

    def _peek(self) -> bool:
        """Whether something is there to be read, and not only the end."""
        try:
            return bool(self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
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
        status = self._process.status()
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

    Attributes:
        isolation: The level of confinement in force.
    """

    isolation = "process"

    def __init__(self, spawn: bool = sys.platform != "linux") -> None:
        if sys.platform == "win32":
            raise GraderFault("grading needs Linux or macOS; on Windows, run it in WSL")
        self._spawn = spawn
        self._home = tempfile.mkdtemp(prefix="grade-")
        if not spawn:
            self._control, theirs = socket.socketpair()
            with theirs:
                self._template = _launch(theirs, self._home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def worker(self) -> Worker:
        """A fresh worker, ready to be sent a submission.

        Raises:
            GraderFault: The template is gone or did not start.
        """
        return Worker(self)

    def close(self) -> None:
        """End the template; it ends what it forked."""
        if not self._spawn:
            self._control.close()
            self._template.terminate()
            self._template.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def _start_worker(self, theirs: socket.socket, pipe: int, folder: str) -> _Process:
        if self._spawn:
            return _Spawned(_launch(theirs, folder, "spawned", stdout=pipe))
        message = f"fork {folder}".encode()
        answer, handle = self._ask(message, [theirs.fileno(), pipe])
        return _Forked(self, answer["pid"], handle)

    def _ask(self, message: bytes, descriptors: list[int]) -> tuple[dict[str, Any], int]:
        handles: list[int] = []

        def receive(count: int) -> bytes:
            data, received, _, _ = socket.recv_fds(self._control, count, 1)
            handles.extend(received)
            if len(data) < count:
                raise ConnectionError
            return data

        try:
            self._control.settimeout(START_SECONDS)
            socket.send_fds(self._control, [message], descriptors)
            answer, _ = frames.unpack(receive, frames.MAX_REPLY_HEADER)
        except OSError:
            raise GraderFault(
                "the grader's template process is gone or did not start; "
                f"`{sys.executable} -c 'import torch'` shows whether torch itself works"
            ) from None
        return answer, handles[0] if handles else -1


class _Process:
    """How a worker is ended, and how it ended."""

    def kill(self) -> None:
        raise NotImplementedError

    def status(self) -> int:
        """Its wait status; waits for its end."""
        raise NotImplementedError


class _Forked(_Process):
    def __init__(self, sandbox: Sandbox, pid: int, handle: int) -> None:
        self._sandbox = sandbox
        self._pid = pid
        self._handle = handle

    def kill(self) -> None:
        if self._handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            os.close(self._handle)
            self._handle = -1

    def status(self) -> int:
        answer, _ = self._sandbox._ask(f"status {self._pid}".encode(), [])
        return int(answer["status"])


class _Spawned(_Process):
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def status(self) -> int:
        code = self._process.wait()
        return -code if code < 0 else code << 8


def _launch(
    connection: socket.socket, folder: str, *words: str, stdout: int | None = None
) -> subprocess.Popen[bytes]:
    """Start the worker side in a folder, with an environment of nothing but what torch needs."""
    environment = {
        "HOME": folder,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(_import_paths()),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    number = str(connection.fileno())
    return subprocess.Popen(
        [sys.executable, "-P", "-s", "-m", "grader.sandbox.inside.template", number, *words],
        cwd=folder,
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
