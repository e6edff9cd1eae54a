"""Measures the time of a check in processor time: waiting on a busy machine does not count.

All figures are the kernel's own account of the worker's process; nothing is asked of the worker.

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

POLL_INTERVAL_S = 0.1  # between two looks during a wait
IDLE_S_PER_CPU_S = 3  # so many seconds of sleep count as one second of processor time
MAX_WALL_S_PER_LIMIT_S = 20  # how long a worker may be waited for, per second of its limit
MAX_JUDGING_CPU_S = 20.0  # of the trusted process in one grading; it usually takes less than 1
CLOCK_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
MAX_MEASURED_TASKS = 256  # of processes below a worker, and of threads in each
RUNNING, BLOCKED = "R", "D"  # states of a task: it has or waits for a core; for a disk, mostly
# A task is blocked by other system calls too, for as long as it likes. So it counts as asleep where
# tasks of this machine waited for a disk or for memory in less of the last ten seconds.
MIN_PRESSURE_PERCENT = 3.0
PRESSURE = [Path("/proc/pressure/io"), Path("/proc/pressure/memory")]


class Clock:
    """The time that a check may take: its workers' processor time, plus a third of their sleep.

    Args:
        seconds: The limit, in seconds.
        patience: How long the workers may be waited for, in wall-clock seconds, before the machine
            counts as too busy; ``MAX_WALL_S_PER_LIMIT_S`` times the limit where None.

    Attributes:
        seconds: The limit, in seconds.
        processor: Processor time that the workers took, in seconds.
        idle: Time that the workers slept, in seconds.
        waited: Time that the workers were waited for, in wall-clock seconds.
    """

    def __init__(self, seconds: float, patience: float | None = None) -> None:
        self.seconds = seconds
        self._patience = MAX_WALL_S_PER_LIMIT_S * seconds if patience is None else patience
        self.processor = self.idle = self.waited = 0.0

    @property
    def taken(self) -> float:
        """The time that was taken, in seconds: processor time plus a third of the sleep."""
        return self.processor + self.idle / IDLE_S_PER_CPU_S

    @property
    def seconds_left(self) -> float:
        """The time that is left, in seconds; at most 0 where the check has taken too long."""
        return self.seconds - self.taken

    def allow(self, seconds: float) -> None:
        """Let the check take so many seconds from now on, if that is more than it has left."""
        self.seconds = max(self.seconds, self.taken + seconds)

    def raise_if_machine_busy(self) -> None:
        """Give up if the machine is so busy that the worker does not get its time.

        Raises:
            MachineBusy: The worker has been waited for longer than the patience allows.
        """
        if self.waited > self._patience:
            raise MachineBusy(
                f"this machine is too busy: in {self.waited:.0f} s a submission got "
                f"{self.processor:.1f} s of a processor; try again when less else is running"
            )


class _Task(NamedTuple):
    """A thread, as the kernel describes it.

    Attributes:
        state: The kernel's letter for its state.
        wanted: How long the thread ran, or waited for a core, in seconds.
        reaped: Processor time of the children that its process has waited for, in seconds.
    """

    state: str
    wanted: float
    reaped: float


class Meter:
    """Reads the processor time of a worker: its process with all threads, and its descendants.

    Where the system does not tell (macOS), every second that the worker is waited for counts.

    Args:
        pid: The ID of the worker's process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._own = 0.0  # processor time of the process itself, at the last reading
        self._children = 0.0
        self._wanted: dict[int, float] = {}  # by thread
        self._unseen = 0.0  # seconds that the worker was waited for since the last look

    def begin(self, cpu_seconds: float) -> None:
        """Begin to measure after ``cpu_seconds`` of processor time, which are not charged."""
        self._own, self._unseen = cpu_seconds, 0.0

    def read(self, clock: Clock, waited: float = 0.0) -> None:
        """Charge a clock with the time that the worker took since the last reading.

        Args:
            clock: The clock of the check.
            waited: How long the worker was waited for meanwhile, in wall-clock seconds.
        """
        clock.waited += waited
        if sys.platform != "linux":
            clock.processor += waited
            return
        own = _processor_time(self._pid)
        clock.processor += max(own - self._own, 0.0)
        self._own = max(own, self._own)
        self._unseen += waited
        if self._unseen >= POLL_INTERVAL_S:
            self._look(clock)
            self._unseen = 0.0

    def _look(self, clock: Clock) -> None:
        """Charge the clock with processor time of descendants, and with time when all slept."""
        pids = [self._pid, *_descendants(self._pid)]
        tasks = {task: found for pid in pids for task, found in _tasks(pid)}
        children = sum(tasks[pid].reaped for pid in pids if pid in tasks)
        children += sum(map(_processor_time, pids[1:]))
        clock.processor += max(children - self._children, 0.0)
        self._children = max(children, self._children)
        grown = [one.wanted - self._wanted.get(task, 0.0) for task, one in tasks.items()]
        self._wanted = {task: one.wanted for task, one in tasks.items()}
        states = {one.state for one in tasks.values()}
        if not (RUNNING in states or (BLOCKED in states and _may_wait_for_disks())):
            clock.idle += max(self._unseen - max(grown, default=0.0), 0.0)


def _processor_time(pid: int) -> float:
    """Return a process's processor time in seconds, ended threads included; 0 once it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def _tasks(pid: int) -> Iterator[tuple[int, _Task]]:
    """Yield the threads of a process by ID; none where the process is gone."""
    for folder in _threads(pid):
        with contextlib.suppress(OSError):
            stat = (folder / "stat").read_bytes()  # a task's name in it may hold any bytes
            fields = stat.rpartition(b")")[2].decode("ascii").split()
            reaped = (int(fields[13]) + int(fields[14])) * CLOCK_TICK_S
            yield int(folder.name), _Task(fields[0], _wanted(folder), reaped)


def _may_wait_for_disks() -> bool:
    """Return whether tasks of this machine waited for a disk or for memory; True if it is unknown.

    Source: the kernel's Documentation/accounting/psi.rst
    """
    try:
        texts = [path.read_text(encoding="ascii") for path in PRESSURE]
        shares = [float(text.split("avg10=")[1].split()[0]) for text in texts]
    except (OSError, LookupError):
        return True
    return max(shares) >= MIN_PRESSURE_PERCENT


def _wanted(folder: Path) -> float:
    try:
        ran, waited, _ = (folder / "schedstat").read_text(encoding="ascii").split()
    except OSError:
        return 0.0  # this kernel keeps no such account: task states alone have to do
    return (int(ran) + int(waited)) / 1e9


def _descendants(pid: int) -> list[int]:
    """Return the descendants of a process, ``MAX_MEASURED_TASKS`` of them at most."""
    found = [pid]
    for one in found:
        for folder in _threads(one):
            with contextlib.suppress(OSError):
                found += map(int, (folder / "children").read_text(encoding="ascii").split())
        if len(found) > MAX_MEASURED_TASKS:
            break
    return found[1 : MAX_MEASURED_TASKS + 1]


def _threads(pid: int) -> list[Path]:
    try:
        return list(itertools.islice(Path(f"/proc/{pid}/task").iterdir(), MAX_MEASURED_TASKS))
    except OSError:
        return []
