"""Processes that grade side by side, each with a sandbox of its own."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Self

import msgspec
from msgspec import structs

from grader.errors import GradeError, GraderFault
from grader.hiring.parallel import cores
from grader.hiring.tasks import Capabilities, PoolSettings, Task, TaskOutcome
from grader.sandbox.clock import MAX_JUDGING_CPU_S, MAX_WALL_S_PER_LIMIT_S
from grader.sandbox.gpu import Gpu
from grader.wire.levels import BUDGET_IN_TIMEOUTS, sharers_that_fit

MAX_TRIES = 2  # of a grading whose process dies
BASE_MIB = 700  # of a grading process and its zygote, without any submission
BASE_ON_GPU_MIB = 1700  # with what CUDA keeps for the process's workers
START_TIMEOUT_S = 180.0
END_TIMEOUT_S = 10.0  # for a killed process to be gone; one that the kernel holds is left behind
POLL_INTERVAL_S = 1.0  # between two looks at processes that grade


class _PooledProcess:
    """One process of a pool, and the connection to it."""

    def __init__(self, settings: PoolSettings) -> None:
        context = multiprocessing.get_context("forkserver")
        # imports torch once for all processes
        context.set_forkserver_preload(["grader.hiring.grading_process"])
        self.connection, theirs = context.Pipe()
        _limit_transfers(self.connection, max_wall_s(settings))
        self.process: BaseProcess = context.Process(
            target=_serve, args=(theirs, msgspec.json.encode(settings)), daemon=True
        )
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.tries = 0  # attempts at this task
        self.waited = 0.0  # for this task's outcome, in seconds

    def hello(self) -> Capabilities:
        """Wait until the process's sandbox is up; return its capabilities."""
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll(START_TIMEOUT_S):
                return msgspec.json.decode(self.connection.recv_bytes(), type=Capabilities)
        return Capabilities(
            fault="a process that grades did not start; `grade doctor` may tell why"
        )

    def begin(self, task: Task, tries: int = 1) -> None:
        self.task, self.tries, self.waited = task, tries, 0.0
        with contextlib.suppress(OSError):  # it is gone or hangs, which ``run`` notices as it waits
            self.connection.send_bytes(msgspec.msgpack.encode(task))

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join(END_TIMEOUT_S)


def _serve(connection: Connection, message: bytes) -> None:
    # Imported where it runs, so that the process that gives out tasks does without torch.
    from grader.hiring.grading_process import serve_tasks

    serve_tasks(connection, message)


def _limit_transfers(connection: Connection, seconds: float) -> None:
    """Raise ``OSError`` where the other process stops reading or writing in a message's middle."""
    limit = struct.pack("ll", math.ceil(seconds), 0)
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)


class GradingPool:
    """Grades tasks in several processes at once; a context manager.

    A process that dies, for whatever reason, is replaced, and costs its task one try. One that
    gives no outcome within ``max_wall_s`` is replaced too, and its task given up.

    Attributes:
        capabilities: The capabilities of this machine.
        left_out: Empty, as there is no other machine: see ``Cluster``.

    Raises:
        GradeError: The device or the level of confinement is not available.
    """

    def __init__(self, settings: PoolSettings, size: int) -> None:
        if sys.platform == "win32":
            raise GraderFault("grading needs Linux or macOS; on Windows, run it in WSL")
        self._settings = settings = structs.replace(settings, gpu_sharers=size)
        self._max_wall_s = max_wall_s(settings)
        self._graders = [_PooledProcess(settings) for _ in range(size)]
        hellos = [grader.hello() for grader in self._graders]
        for hello in hellos:
            if hello.fault:
                self.close()
                raise GradeError(hello.fault)
        self.capabilities = hellos[0]
        self.left_out: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [grader.process.pid or 0 for grader in self._graders]

    def close(self) -> None:
        """End all processes, even in the middle of a task."""
        for grader in self._graders:
            grader.end()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, TaskOutcome]]:
        """Grade tasks, taken one by one as processes become free; yield each once it is done."""
        left = iter(tasks)
        for grader in self._graders:
            self._next(grader, left)
        while busy := [grader for grader in self._graders if grader.task]:
            for grader in self._ready_or_hung(busy):
                task, tries = grader.task, grader.tries
                hangs = grader.waited > self._max_wall_s
                done = None if hangs else self._outcome(grader)
                assert task is not None
                if done is None:
                    grader = self._replace(grader)
                    if tries < MAX_TRIES and not hangs:
                        grader.begin(task, tries + 1)
                        continue
                    done = given_up(self._max_wall_s if hangs else 0.0)
                self._next(grader, left)
                yield task, done

    def _ready_or_hung(self, busy: Sequence[_PooledProcess]) -> list[_PooledProcess]:
        """Wait a little; return the processes with an outcome, and those that hang."""
        began = time.monotonic()
        ready = wait([grader.connection for grader in busy], POLL_INTERVAL_S)
        # A longer wait means that this process itself was stopped, say by Ctrl-Z: not counted.
        waited = min(time.monotonic() - began, POLL_INTERVAL_S)
        for grader in busy:
            grader.waited = 0.0 if grader.connection in ready else grader.waited + waited
        return [
            grader
            for grader in busy
            if grader.connection in ready or grader.waited > self._max_wall_s
        ]

    def _next(self, grader: _PooledProcess, left: Iterator[Task]) -> None:
        task = next(left, None)
        grader.task = None
        if task is not None:
            grader.begin(task)

    def _outcome(self, grader: _PooledProcess) -> TaskOutcome | None:
        """Return the outcome of a process's task; None if the process is gone."""
        try:
            return msgspec.json.decode(
                grader.connection.recv_bytes(), type=TaskOutcome, strict=False
            )
        except (EOFError, OSError):
            return None

    def _replace(self, grader: _PooledProcess) -> _PooledProcess:
        grader.end()
        fresh = _PooledProcess(self._settings)
        hello = fresh.hello()
        if hello.fault:
            raise GraderFault(hello.fault)
        self._graders[self._graders.index(grader)] = fresh
        return fresh


def max_wall_s(settings: PoolSettings) -> float:
    """Return after how many seconds without an outcome a grading process counts as hung.

    No grading takes so long that ends at all, on a machine that is not too busy to grade.
    """
    worker_s = settings.timeout * (BUDGET_IN_TIMEOUTS + 1)  # the last check may overrun the budget
    return MAX_WALL_S_PER_LIMIT_S * (worker_s + MAX_JUDGING_CPU_S) + START_TIMEOUT_S


def given_up(hung_s: float, reason: str = "") -> TaskOutcome:
    """Return the outcome of a task whose process hung for so many seconds; 0 for one that died."""
    fault = (
        f"the process that graded it hung for {hung_s / 60:.0f} minutes"
        if hung_s
        else f"the process that graded it died {MAX_TRIES} times"
    )
    return TaskOutcome(fault=f"{fault}: {reason}" if reason else fault)


def processes_that_fit(memory: int, room: int, gpu: Gpu | None = None) -> int:
    """Return how many grading processes fit the cores, the memory and the GPU of this machine.

    Args:
        memory: The memory of one submission, in MiB.
        room: The memory of all processes together, in MiB.
        gpu: The GPU that all processes share; None where they use none.

    Raises:
        GradeError: The memory is not enough for one process.
    """
    each = memory + (BASE_MIB if gpu is None else BASE_ON_GPU_MIB)
    fit = room // each
    if fit < 1:
        raise GradeError(
            f"{room} MiB are too little for one process that grades ({each} MiB); free some, lower "
            "`memory` in the take-home's record, or try --jobs 1"
        )
    shared = fit if gpu is None else max(1, sharers_that_fit(gpu.memory))
    return min(cores(), fit, shared)
