"""Starts a zygote process and gives out the workers that it forks. Does not import torch.

A zygote is a process that imports torch once; a worker is a process that runs one submission.
"""

from __future__ import annotations

import contextlib
import functools
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from grader.errors import GraderFault
from grader.sandbox import launch
from grader.sandbox.clock import POLL_INTERVAL_S
from grader.sandbox.gpu import first_gpu
from grader.sandbox.wall_check import try_walls
from grader.sandbox.workers import Process, Stopped, WorkerProcess
from grader.wire import frames, greetings
from grader.wire.kernels import choose_kernels
from grader.wire.levels import LEVELS, Confinement, Limits

ZYGOTE_START_TIMEOUT_S = 120.0  # a cold disk is slow to read torch from

_T = TypeVar("_T")


class Sandbox:
    """Gives out workers, processes that each run one submission, confined.

    Where the platform can fork, a zygote forks them: a process that has imported torch already.

    One sandbox serves a whole session. Creating it returns at once: the zygote imports torch
    while the trusted side does the same.

    Args:
        isolation: A level of confinement, or ``auto`` for the strongest that the machine offers.
        limits: Resource limits of a worker; the defaults of ``Limits`` where None.
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
        choose_kernels()
        levels = [level for level in LEVELS if isolation in ("auto", level)]
        paths = launch.import_paths() + (launch.driver_folders() if on_gpu else [])
        found = first_gpu() if on_gpu else None
        gpu = found.device if found is not None else ""
        self._confinement = Confinement(levels, limits or Limits(), on_gpu, gpu, paths, spawn)
        self.on_gpu = on_gpu
        self.spawns = spawn
        self.stop = threading.Event()  # when set, the grading under way ends with ``Stopped``
        self._lock = threading.Lock()
        self._unread_ends = 0  # answers of the zygote on workers that nobody waits for
        self.open_walls: list[str] = []  # what a canary could do at the level in force
        self.tasks = 0  # processes and threads of a worker; 0 where only memory bounds them
        self._offer = ""  # the level that the zygote offers and the canary is to try
        self._level = ""  # the level in force, once the canary has tried it
        self._refused: dict[str, str] = {}
        self._spare: WorkerProcess | None = None
        if not spawn:
            self._start_zygote()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def isolation(self) -> str:
        """The level of confinement in force; reading it waits until a canary has tried the level.

        A canary is code that attempts in a worker what no submission may do.

        Raises:
            GraderFault: None of the acceptable levels is available here.
        """
        while not self._level:
            if self._confinement.levels[-1] in self._refused:
                reasons = "; ".join(f"`{level}`: {why}" for level, why in self._refused.items())
                raise GraderFault(f"isolation is not available here: {reasons}; see `grade doctor`")
            self._offer = self._offer or self._offered()
            if self._offer:
                self._try(self._offer)
        return self._level

    @property
    def refused(self) -> dict[str, str]:
        """Why each stronger level of confinement is not available, once ``isolation`` was read."""
        return dict(self._refused)

    def _offered(self) -> str:
        """Return the strongest level of confinement that the zygote can provide; empty if none."""
        if self.spawns:
            return "process"
        self._wait_for_zygote()
        offer = self._receive(greetings.Offer)
        self._refused |= offer.refused
        self.tasks = offer.tasks
        return offer.level

    def _wait_for_zygote(self) -> None:
        """Wait until the zygote has sent something, which takes as long as importing torch.

        Raises:
            Stopped: The sandbox was told to stop meanwhile.
        """
        deadline = time.monotonic() + ZYGOTE_START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.stop.is_set():
                raise Stopped
            if select.select([self._control], [], [], POLL_INTERVAL_S)[0]:
                return

    def _try(self, level: str) -> None:
        """Test a level of confinement by a canary: code that attempts what no submission may do.

        If the level does not hold, start another zygote with the weaker levels.
        """
        memory_is_bounded = not (self.spawns or self.on_gpu)
        tried = try_walls(level, WorkerProcess(self._start_worker, self.stop), memory_is_bounded)
        if not tried.problem:
            self._level, self.open_walls = level, tried.done
            return
        self._refused[level], self._offer = tried.problem, ""
        levels = self._confinement.levels
        if left := levels[levels.index(level) + 1 :]:
            self.close()
            self._confinement = msgspec.structs.replace(self._confinement, levels=left)
            self._start_zygote()

    def reveals(self, path: Path) -> Path | None:
        """Return the folder of libraries, open to workers, that a file lies in; None if in none.

        At level ``process`` this is None for every file: a worker can read them all there, in
        whichever folder they lie, and nothing is promised to be hidden from it.
        """
        if self.isolation == "process":
            return None
        whole = path.resolve()
        return next((folder for folder in self._revealed if folder in whole.parents), None)

    @functools.cached_property
    def _revealed(self) -> list[Path]:
        from grader.worker import confine  # cannot be imported on a platform without walls

        return [folder.resolve() for folder in confine.readable_paths(self._confinement)]

    def worker(self) -> WorkerProcess:
        """Return a fresh worker, ready to be sent a submission.

        With a GPU one more worker is started at once, so that it has initialized CUDA by the time
        it is needed.

        Raises:
            GraderFault: The zygote is gone or did not start, or no acceptable level holds.
        """
        assert self.isolation
        ready, self._spare = self._spare, None
        if ready is not None and ready.gone:
            ready.kill()
            ready = None
        given = ready or WorkerProcess(self._start_worker, self.stop)
        if self.on_gpu:
            self._spare = WorkerProcess(self._start_worker, self.stop)
        return given

    def prepare(self) -> None:
        """Start the next worker before it is asked for."""
        if self._spare is None and self.isolation:
            self._spare = WorkerProcess(self._start_worker, self.stop)

    def wait_for_ends(self) -> None:
        """Wait until nothing is left of the workers that were let go."""
        with self._lock:
            self._read_ends()

    def close(self) -> None:
        """End the zygote, which ends the workers that it forked."""
        spare, self._spare = self._spare, None
        if spare is not None:
            with contextlib.suppress(GraderFault):  # the zygote is gone already
                spare.kill()
        if not self.spawns:
            self._control.close()
            try:
                self._zygote.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._zygote.kill()
                self._zygote.wait()

    def _start_zygote(self) -> None:
        self._control, theirs = socket.socketpair()
        self._unread_ends = 0
        with theirs:
            self._zygote = launch.start(theirs, self._confinement)

    def _start_worker(self, theirs: socket.socket, pipe: int) -> Process:
        if self.spawns:
            return launch.SpawnedProcess(launch.start(theirs, self._confinement, stdout=pipe))
        forked = self._ask(b"fork", [theirs.fileno(), pipe], greetings.Forked)
        if forked.refused:
            raise GraderFault(f"no worker can be started: {forked.refused}")
        return _ForkedProcess(self, forked.pid)

    def _ask(self, message: bytes, descriptors: list[int], answer: type[_T]) -> _T:
        with self._lock:
            self._tell(message, descriptors)
            self._read_ends()
            return self._receive(answer)

    def _begin_end(self, pid: int) -> None:
        with self._lock:
            self._tell(f"end {pid}".encode(), [])
            self._unread_ends += 1

    def _read_ends(self) -> None:
        while self._unread_ends:
            self._receive(greetings.Ended)
            self._unread_ends -= 1

    def _tell(self, message: bytes, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._control, [message.ljust(greetings.MESSAGE_BYTES)], descriptors)
        except OSError:
            raise _zygote_gone() from None

    def _receive(self, answer: type[_T]) -> _T:
        def receive(count: int) -> bytes:
            data = self._control.recv(count, socket.MSG_WAITALL)
            if len(data) < count:
                raise ConnectionError
            return data

        try:
            self._control.settimeout(ZYGOTE_START_TIMEOUT_S)
            return frames.unpack(receive, frames.MAX_REPLY_HEADER_BYTES, answer)[0]
        except OSError:
            raise _zygote_gone() from None


def _zygote_gone() -> GraderFault:
    return GraderFault(
        "the grader's zygote process is gone or did not start; "
        f"`{sys.executable} -c 'import torch'` shows whether torch itself works"
    )


class _ForkedProcess:
    """The process of a worker that the zygote forked."""

    def __init__(self, sandbox: Sandbox, pid: int) -> None:
        self._sandbox = sandbox
        self.pid = pid

    def end(self) -> int:
        return self._sandbox._ask(f"end {self.pid}".encode(), [], greetings.Ended).status

    def begin_end(self) -> None:
        self._sandbox._begin_end(self.pid)
