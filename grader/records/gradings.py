"""What a learner's history keeps of a grading."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_NAME_CHARS = 100  # of an exercise, a check, a mistake
Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME_CHARS)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**6)]


class Grading(msgspec.Struct, frozen=True):
    """One past grading.

    Attributes:
        started: When the grading began: ISO 8601, UTC.
        seconds: How long the grading took.
        hints: How many hints had been shown before.
        written: Whether any check found something written.
        mistakes: The first set of mistakes that reproduced what was wrong. Further sets explain the
            same numbers, so counting them too would count one mistake twice.
        digest: The digest of the source, as in a manifest.
    """

    exercise: Name
    started: Name
    seconds: float
    earned: Count
    possible: Count
    solved: bool
    hints: Count
    written: bool
    mistakes: Annotated[list[Name], msgspec.Meta(max_length=10)]
    digest: str

    def __post_init__(self) -> None:
        """Check what arithmetic relies on.

        Raises:
            ValueError: More points were earned than could be.
        """
        if self.earned > self.possible:
            raise ValueError(f"{self.earned} of {self.possible} points")

    @property
    def share(self) -> float:
        """The points earned, as a share of the possible ones."""
        return self.earned / max(self.possible, 1)
