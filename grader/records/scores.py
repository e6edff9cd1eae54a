"""Score, Row: what the candidates of a batch got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """What a candidate got for one exercise.

    Attributes:
        earned: Points; of several gradings the lowest.
        possible: Points that could be earned.
        status: ``graded``, ``missing``, ``as sent``, ``cannot be tried``, ``not graded``, or
            ``disagrees`` where several gradings gave different scores.
        diagnosis: The mistakes found, by name.
    """

    earned: int
    possible: int
    status: str
    diagnosis: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A candidate's line.

    Attributes:
        total: The weighted mean of the shares, 0 to 1.
        scores: One for each exercise, in the order of the columns.
    """

    candidate: str
    total: float
    scores: Sequence[Score]
