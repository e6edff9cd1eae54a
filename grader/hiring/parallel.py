"""Work on many items, done in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TypeVar

AHEAD = 4  # items for each process that are taken before their turn
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def cores() -> int:
    """Those that this process may run on."""
    # On macOS a process cannot be told on which cores it may run.
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def parallel_map(
    work: Callable[[_Item], _Result], items: Iterable[_Item], processes: int | None = None
) -> Iterator[tuple[_Item, _Result]]:
    """Each item and what the work makes of it, in their order; few of them are held at a time.

    Args:
        work: Depends on its item alone.
        items: To work on.
        processes: As many as there are cores where None.
    """
    processes = processes or cores()
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(processes, context, _leave_interrupts_to_the_parent) as pool:
        waiting: deque[tuple[_Item, Future[_Result]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > AHEAD * processes:
                first, future = waiting.popleft()
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
