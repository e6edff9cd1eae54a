"""The outcome of one situation: whether the submission is right in it, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from grader.suite.situations.factors import Row
from grader.suite.sizes import Sizes


class SituationLike(Protocol):
    """One combination of conditions in which a submission is tried."""

    @property
    def row(self) -> Row:
        """The level of each factor."""

    @property
    def sizes(self) -> Sizes:
        """The sizes that are tried."""

    @property
    def size(self) -> int:
        """The count of numbers in the inputs: the fewer, the easier a failure is to look at."""

    @property
    def further_claims(self) -> tuple[str, ...]:
        """Names of claims that the situation is about, beyond those that its factors imply."""


class Aspect(StrEnum):
    """A respect in which a submission is wrong in a situation."""

    RAISES = "raises an exception"
    FORM = "has another shape, dtype or device"
    VALUE = "wrong"
    GRADIENT = "has wrong gradients"
    CHANGED = "changes its input"
    LEFT = "leaves something changed"
    STOPPED = "takes too long"
    ENDED = "ends its process"
    UNTRIED = "could not be tried"


ENDS = (Aspect.STOPPED, Aspect.ENDED)  # which of the two ends of a worker comes first may be chance


@dataclass(frozen=True)
class SituationOutcome:
    """The outcome of one situation.

    Attributes:
        aspect: What is wrong; None if the submission is right.
        reason: The exception that says why; None if the submission is right.
        is_spared: Whether nothing shows here: what is right is 0, or it lacks a gradient of 0.
    """

    situation: SituationLike
    aspect: Aspect | None = None
    reason: Exception | None = None
    is_spared: bool = False

    @property
    def row(self) -> Row:
        """The level of each factor."""
        return self.situation.row

    @property
    def is_known(self) -> bool:
        """Whether the submission was tried to the end, so that it is right or wrong."""
        return self.aspect not in (*ENDS, Aspect.UNTRIED)
