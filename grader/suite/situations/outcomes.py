"""What comes of a situation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from grader.suite.contract import Sizes
from grader.suite.situations.factors import Row


class Situation(Protocol):
    """One combination of conditions in which an answer is tried."""

    @property
    def row(self) -> Row:
        """The level of each factor."""

    @property
    def sizes(self) -> Sizes:
        """Those that are tried."""

    @property
    def size(self) -> int:
        """How many numbers the input has: the fewer, the easier to look at."""

    @property
    def about(self) -> tuple[str, ...]:
        """Claims that it is about beyond what its factors say."""


class Aspect(StrEnum):
    """What of a situation is wrong."""

    RAISES = "raises an exception"
    FORM = "has another shape, dtype or device"
    VALUE = "wrong"
    GRADIENT = "has wrong gradients"
    CHANGED = "changes its input"
    LEFT = "leaves something changed"
    STOPPED = "takes too long"
    ENDED = "ends its process"
    UNTRIED = "could not be tried"


@dataclass(frozen=True)
class Outcome:
    """What came of a situation.

    Attributes:
        aspect: What is wrong; None where it is right.
        reason: Why; None where it is right.
    """

    situation: Situation
    aspect: Aspect | None = None
    reason: Exception | None = None

    @property
    def row(self) -> Row:
        """The level of each factor."""
        return self.situation.row

    @property
    def is_known(self) -> bool:
        """Whether something came that is right or wrong."""
        return self.aspect not in (Aspect.STOPPED, Aspect.ENDED, Aspect.UNTRIED)
