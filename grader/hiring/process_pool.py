"""Processes that grade side by side, each with a sandbox of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Self

import msgspec
from msgspec import structs

from grader.errors import GradeError, GraderFault
from grader.hiring.parallel import cores
from grader.hiring.tasks import Capabilities, PoolSettings, Task, TaskOutcome
from grader.sandbox.gpu import Gpu
from grader.wire.levels import sharers_that_fit

MAX_TRIES = 2  # of a grading whose process dies
BASE_MIB = 700  # of a grading process and its zygote, without any submission
BASE_ON_GPU_MIB = 1700  # with what CUDA keeps for the process's workers
START_TIMEOUT_S = 180.0


class _PooledProcess:
    """One process of a pool, and the connection to it."""

    def __init__(self, settings: PoolSettings) -> None:
        context = multiprocessing.get_context("forkserver")
        # imports torch once for all processes
        context.set_forkserver_preload(["grader.hiring.grading_process"])
        from grader.hiring.grading_process import serve_tasks

        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=serve_tasks, args=(theirs, msgspec.json.encode(settings)), daemon=True
        )
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.tries = 0  # attempts at this task

    def hello(self) -> Capabilities:
        """Wait until the process's sandbox is up; return its capabilities."""
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll(START_TIMEOUT_S):
                return msgspec.json.decode(self.connection.recv_bytes(), type=Capabilities)
        return Capabilities(
            fault="a process that grades did not start; `grade doctor` may tell why"
        )

    def begin(self, task: Task, tries: int = 1) -> None:
        self.task, self.tries = task, tries
        with contextlib.suppress(OSError):  # it is gone, which ``run`` notices as it waits
            self.connection.send_bytes(msgspec.msgpack.encode(task))

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


class GradingPool:
    """Grades tasks in several processes at once; a context manager.

    A process that dies, for whatever reason, is replaced, and costs its task one try.

    Args:
        settings: How to grade.
        size: How many processes.

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
        """Grade tasks, and yield each with its outcome as soon as it is done.

        Args:
            tasks: The tasks, taken one by one as processes become free.
        """
        left = iter(tasks)
        for grader in self._graders:
            self._next(grader, left)
        while busy := {grader.connection: grader for grader in self._graders if grader.task}:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                grader = busy[ready]
                task, done = grader.task, self._outcome(grader)
                assert task is not None
                if done is None:
                    tries, grader = grader.tries, self._replace(grader)
                    if tries < MAX_TRIES:
                        grader.begin(task, tries + 1)
                        continue
                    done = TaskOutcome(fault=f"the process that graded it died {MAX_TRIES} times")
                self._next(grader, left)
                yield task, done

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
