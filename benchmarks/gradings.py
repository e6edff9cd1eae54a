"""Run many gradings in two processes, and store each result at once, so that a run can resume."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from grader.sandbox.process import Sandbox

PROCESSES = 2

R = TypeVar("R")


class Grading(NamedTuple):
    """A grading to do: a known answer of the kit is given by its name, any other by its path."""

    exercise: str
    answer: str
    seed: int


@cache
def own_sandbox() -> Sandbox:
    """Return the sandbox that this process keeps for all its gradings."""
    return Sandbox().__enter__()


def read_stored(file: Path, of: type[R]) -> list[R]:
    """Read stored results, one per line of a file; return none if the file is missing."""
    lines = file.read_bytes().splitlines() if file.is_file() else []
    return [msgspec.json.decode(line, type=of) for line in lines]


def try_all(try_one: Callable[[Grading], R], left: Iterable[Grading], file: Path) -> Iterator[R]:
    """Do the gradings that are left, append each result to a file, and yield it."""
    with file.open("ab") as kept, multiprocessing.Pool(PROCESSES) as pool:
        for one in pool.imap_unordered(try_one, left, chunksize=1):
            kept.write(msgspec.json.encode(one) + b"\n")
            kept.flush()
            yield one
