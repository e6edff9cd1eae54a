"""The time of a check, in what its worker takes of it: not in what a busy machine lets it wait.

All of it is the kernel's own account of the worker's process; nothing is asked of the worker.

Source: clock_getcpuclockid(3), proc(5), the kernel's Documentation/scheduler/sched-stats.rst
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from grader.errors import MachineBusy

LOOK = 0.1  # how often a wait looks what it waits for, in seconds
IDLE = 3  # seconds of sleep that are as much as one of processor time
STARVED = 20  # times the limit, by the wall, that a worker may wait for a core
TICK = 1 / os.sysconf("SC_CLK_TCK")
MOST = 256  # processes below a worker, and threads of each, that are looked at
BUSY = "RD"  # states of a task that would run, had it a core and what it reads
# Where in the kernel a task in state D waits for a child by vfork: for as long as that one likes.
VFORK = ("kernel_clone", "wait_for_vfork_done", "_do_fork")


class Clock:
    """What a check may take: processor time of its workers, and a third of what they sleep.

    Args:
        seconds: How much that is.
        patience: How long it may have to wait for that, in seconds by the wall; as long as
            ``STARVED`` times as much where None.

    Attributes:
        seconds: What may be taken in all.
        processor: What was taken, in seconds.
        idle: What was slept, in seconds.
        waited: How long it was waited for, in seconds by the wall.
    """

    def __init__(self, seconds: float, patience: float | None = None) -> None:
        self.seconds = seconds
        self._patience = STARVED * seconds if patience is None else patience
        self.processor = self.idle = self.waited = 0.0

    @property
    def taken(self) -> float:
        """What was taken, in seconds."""
        return self.processor + self.idle / IDLE

    @property
    def left(self) -> float:
        """What is left, in seconds; no more than 0 where the check has taken too long."""
        return self.seconds - self.taken

    def allow(self, seconds: float) -> None:
        """Let it take so much from now on, in seconds, if that is more than what is left."""
        self.seconds = max(self.seconds, self.taken + seconds)

    def expect_a_machine(self) -> None:
        """Give up where the worker did not get what it might have taken.

        Raises:
            MachineBusy: It has waited too long for a core.
        """
        if self.waited > self._patience:
            raise MachineBusy(
                f"this machine is too busy: in {self.waited:.0f} s a submission got "
                f"{self.processor:.1f} s of a processor; try again when less else is running"
            )


class _Task(NamedTuple):
    """A thread, as the kernel has it.

    Attributes:
        state: A letter.
        wanted: How long it ran, or waited for a core, in seconds.
        reaped: What children took that it has waited for, in seconds.
    """

    state: str
    wanted: float
    reaped: float


class Meter:
    """Reads what a worker takes: its process with all threads, and all that it has started.

    Where the system does not tell (macOS), every second that it is waited for counts.

    Args:
        pid: Its process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._own = 0.0  # processor time, at the last reading
        self._children = 0.0
        self._wanted: dict[int, float] = {}  # by thread
        self._unseen = 0.0  # seconds that it was waited for since the last look

    def begin(self, taken: float) -> None:
        """Count from where so much processor time was taken, in seconds."""
        self._own, self._unseen = taken, 0.0

    def read(self, clock: Clock, waited: float = 0.0) -> None:
        """Put on a clock what was taken since the last time.

        Args:
            clock: Of the check.
            waited: For how long the worker was waited for meanwhile, in seconds by the wall.
        """
        clock.waited += waited
        if sys.platform != "linux":
            clock.processor += waited
            return
        own = _processor_time(self._pid)
        clock.processor += max(own - self._own, 0.0)
        self._own = max(own, self._own)
        self._unseen += waited
        if self._unseen >= LOOK:
            self._look(clock)
            self._unseen = 0.0

    def _look(self, clock: Clock) -> None:
        """Look at all threads: what children took, and how long none of them wanted a core."""
        pids = [self._pid, *_descendants(self._pid)]
        tasks = {task: found for pid in pids for task, found in _tasks(pid)}
        children = sum(tasks[pid].reaped for pid in pids if pid in tasks)
        children += sum(map(_processor_time, pids[1:]))
        clock.processor += max(children - self._children, 0.0)
        self._children = max(children, self._children)
        grown = [one.wanted - self._wanted.get(task, 0.0) for task, one in tasks.items()]
        self._wanted = {task: one.wanted for task, one in tasks.items()}
        if not any(one.state in BUSY for one in tasks.values()):
            clock.idle += max(self._unseen - max(grown, default=0.0), 0.0)


def _processor_time(pid: int) -> float:
    """What all threads of a process have taken, those that have ended too; 0 once it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def _tasks(pid: int) -> Iterator[tuple[int, _Task]]:
    """The threads of a process; none where it is gone."""
    for folder in _threads(pid):
        with contextlib.suppress(OSError):
            stat = (folder / "stat").read_bytes()  # in which a task may name itself in any bytes
            fields = stat.rpartition(b")")[2].decode("ascii").split()
            reaped = (int(fields[13]) + int(fields[14])) * TICK
            is_asleep = fields[0] == "D" and (folder / "wchan").read_text() in VFORK
            yield int(folder.name), _Task("S" if is_asleep else fields[0], _wanted(folder), reaped)


def _wanted(folder: Path) -> float:
    try:
        ran, waited, _ = (folder / "schedstat").read_text(encoding="ascii").split()
    except OSError:
        return 0.0  # a kernel that keeps no such account: states have to do
    return (int(ran) + int(waited)) / 1e9


def _descendants(pid: int) -> list[int]:
    """The processes below one, as far as they are not too many to be looked at."""
    found = [pid]
    for one in found:
        for folder in _threads(one):
            with contextlib.suppress(OSError):
                found += map(int, (folder / "children").read_text(encoding="ascii").split())
        if len(found) > MOST:
            break
    return found[1 : MOST + 1]


def _threads(pid: int) -> list[Path]:
    try:
        return list(itertools.islice(Path(f"/proc/{pid}/task").iterdir(), MOST))
    except OSError:
        return []
