"""Many gradings in two processes, whose results are kept as they come: they can be gone on with."""

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
    """One to be done; of a known answer of the kit by its name, of any other by its path."""

    exercise: str
    answer: str
    seed: int


@cache
def own_sandbox() -> Sandbox:
    """The sandbox that this process keeps for all its gradings."""
    return Sandbox().__enter__()


def read(file: Path, of: type[R]) -> list[R]:
    """The results that were kept, each in a line; none where there is no file."""
    lines = file.read_bytes().splitlines() if file.is_file() else []
    return [msgspec.json.decode(line, type=of) for line in lines]


def try_all(try_one: Callable[[Grading], R], left: Iterable[Grading], file: Path) -> Iterator[R]:
    """What comes of each, as it comes, once it was added to those that are kept."""
    with file.open("ab") as kept, multiprocessing.Pool(PROCESSES) as pool:
        for one in pool.imap_unordered(try_one, left, chunksize=1):
            kept.write(msgspec.json.encode(one) + b"\n")
            kept.flush()
            yield one
