"""How long a submission takes for how much, as it was measured. No torch here."""

from __future__ import annotations

from typing import NamedTuple

SHORT = 9  # positions, up to which what a situation takes is hardly that of its scores
MANY = 5_000  # scores of a request, from which what it takes tells what one does
SLOW = 2e-6  # seconds a score, where a product of matrices takes a hundredth
# That a slow answer is tried with: four loops in Python keep 11 KB of each for a backward.
MOST_SCORES = 100_000
BACKWARD = 2  # times as long a score takes with its gradients, where nothing better is known


class Work(NamedTuple):
    """How much is to be computed: scores, each of a query and a key in a head of a sequence.

    Attributes:
        plain: Of calls.
        learning: Of calls with their gradients.
        situations: How many they belong to.
    """

    plain: int = 0
    learning: int = 0
    situations: int = 0

    @classmethod
    def of(cls, scores: int, learns: bool, situations: int = 0) -> Work:
        """So many scores, with their gradients or without."""
        return cls(0, scores, situations) if learns else cls(scores, 0, situations)

    def __add__(self, other: Work) -> Work:  # type: ignore[override]  # no longer tuple
        return Work(*(mine + its for mine, its in zip(self, other, strict=True)))

    @property
    def size(self) -> int:
        """How much it is in all."""
        return self.plain + BACKWARD * self.learning


class Pace:
    """What a submission takes: so much for each situation, and so much more for each score.

    Attributes:
        each: What a short situation takes, in seconds of processor time.
        plain: What a score takes beside; 0 until it was measured.
        learning: What it takes with its gradients.
    """

    def __init__(self) -> None:
        self.each = self.plain = self.learning = 0.0
        self._seconds, self._count = 0.0, 0  # of all short situations

    def measure(self, work: Work, longest: int, seconds: float) -> None:
        """Note what a request took whose longest situation has so many positions."""
        if longest <= SHORT:
            self._seconds, self._count = self._seconds + seconds, self._count + work.situations
            self.each = self._seconds / self._count
        elif work.size > MANY:
            rate = max(seconds - work.situations * self.each, 0.0) / work.size
            if work.plain:
                self.plain = max(rate, (rate + self.plain) / 2)
            if work.learning:
                rate *= BACKWARD
                self.learning = max(rate, (rate + self.learning) / 2)

    @property
    def is_slow(self) -> bool:
        """Whether long situations may take longer than there is time for."""
        return max(self.plain, self.learning / BACKWARD) > SLOW

    def is_too_much(self, scores: int) -> bool:
        """Whether what is kept of so many scores for a backward may be more than memory holds."""
        return self.is_slow and scores > MOST_SCORES

    def seconds_for(self, work: Work) -> float:
        """What so much takes, in seconds of processor time; by the other kind where one is new."""
        plain = self.plain or self.learning / BACKWARD
        learning = self.learning or self.plain * BACKWARD
        return work.situations * self.each + work.plain * plain + work.learning * learning
