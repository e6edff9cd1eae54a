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

MAX_QUEUED_PER_PROCESS = 4  # items
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def cores() -> int:
    """Return the number of cores that this process may run on."""
    # macOS has no call for the cores that a process may run on.
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def parallel_map(
    work: Callable[[_Item], _Result], items: Iterable[_Item], processes: int | None = None
) -> Iterator[tuple[_Item, _Result]]:
    """Yield each item with its result, in the items' order; few of them are held at a time.

    Args:
        work: The function of an item, which depends on nothing else.
        items: The items to work on.
        processes: The number of processes; None for as many as there are cores.
    """
    processes = processes or cores()
    context = multiprocessing.get_context("forkserver")
    interrupts = (signal.SIGINT, signal.SIG_IGN)  # are left to the parent
    with ProcessPoolExecutor(processes, context, signal.signal, interrupts) as pool:
        waiting: deque[tuple[_Item, Future[_Result]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > MAX_QUEUED_PER_PROCESS * processes:
                first, future = waiting.popleft()
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()
