"""Runs functions of ours on what strangers made, in a process of its own, within bounds.

A few bytes can make a parser take any time and memory. What it takes is that process's, which
then ends; the next call begins another one.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from typing import TypeVar

from grader.errors import GradeError

MEBIBYTES = 512  # of memory, for each call
SECONDS = 10  # of processor time, for each call

_is_bounded = False  # this process itself

_T = TypeVar("_T")


def bounded(name: str, function: Callable[[], _T]) -> _T:
    """What a function gives, which is run elsewhere: what it changes is not changed here.

    Args:
        name: Of the file that it reads.
        function: It and what it gives can be pickled: a ``partial`` of a module's function.

    Raises:
        GradeError: It raised it, or took more than its bounds.
    """
    if _is_bounded:
        return function()
    try:
        return _process().submit(_within_bounds, function).result()
    except (BrokenProcessPool, MemoryError):
        _process().shutdown(wait=False)
        _process.cache_clear()
        raise GradeError(
            f"`{name}` takes more than {SECONDS} s or {MEBIBYTES} MiB to read; a Python file that "
            "holds nothing else is read at once"
        ) from None


def end() -> None:
    """End the other process, if there is one."""
    if _process.cache_info().currsize:
        _process().shutdown()
        _process.cache_clear()


@cache
def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)


def _begin() -> None:
    global _is_bounded
    _is_bounded = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)


def _end_with_the_parent() -> None:
    """Where that was killed, nobody says that there is nothing more to come."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _within_bounds(function: Callable[[], _T]) -> _T:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # not on Linux: what is in use would be a guess
        pages = 0
    _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + (MEBIBYTES << 20))
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + SECONDS)
    return function()


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
