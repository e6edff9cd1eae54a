"""How far a grading is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple


class Progress(NamedTuple):
    """How far a grading is.

    Attributes:
        unit: What is counted. The situations of a contract are tried during its first check.
        done: How many are done.
        total: How many there are; with situations, those of this contract.
        wrong: What is wrong in the first situation that is not right; empty if none is so far.
    """

    unit: Literal["situations", "checks"]
    done: int
    total: int
    wrong: str = ""


OnProgress = Callable[[Progress], object]
