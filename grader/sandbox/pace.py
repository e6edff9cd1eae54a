"""Measures how fast a submission computes. Does not import torch."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

MARGIN = 4  # a step may take this many times the time that it is expected to take
SHORT_T = 9  # up to so many positions, a situation's scores hardly add to its time
MIN_TIMED_SCORES = 5_000  # the time of a request with more tells how long one score takes
MIN_TIMED_S = 0.5  # so does that of a situation that takes as long by itself, however few it has
SLOW_S_PER_SCORE = 5e-7  # beyond it, a submission is slow; a matrix product takes a twentieth
# A situation with more numbers in its weights than this, and than scores, tells how long one takes.
MIN_TIMED_WEIGHTS = 4_000
SLOW_S_PER_WEIGHT = 5e-6  # as ``SLOW_S_PER_SCORE``; products in Python loops take ten times as long
# Scores that a slow submission is tried with at most: four nested loops in Python keep 11 KB for
# each until the backward.
MAX_SLOW_SCORES = 100_000
BACKWARD_COST = 2  # how many times as long a score takes with its gradients, until measured


class Work(NamedTuple):
    """An amount of computation, in scores: one for each query and key, in each head and sequence.

    Attributes:
        plain: Scores of calls without gradients.
        learning: Scores of calls with gradients.
        situations: How many situations the calls belong to.
        weights: How many numbers the weights of these situations have.
    """

    plain: int = 0
    learning: int = 0
    situations: int = 0
    weights: int = 0

    @classmethod
    def of(cls, scores: int, learns: bool, situations: int = 0, weights: int = 0) -> Work:
        """Return the work of so many scores, with their gradients or without."""
        plain, learning = (0, scores) if learns else (scores, 0)
        return cls(plain, learning, situations, weights)

    def __add__(self, other: Work) -> Work:  # type: ignore[override]  # no longer tuple
        return Work(*(mine + its for mine, its in zip(self, other, strict=True)))

    @property
    def size(self) -> int:
        """The total, in scores: one with gradients counts ``BACKWARD_COST`` times."""
        return self.plain + BACKWARD_COST * self.learning


class Pace:
    """The time that a submission takes for each situation, and in addition for each score.

    Attributes:
        each: Seconds of processor time for a short situation.
        plain: Additional seconds for a score; 0 until this was measured.
        learning: Additional seconds for a score with its gradients; 0 until this was measured.
        weight: The most seconds for a number of the weights; 0 until this was measured.
    """

    def __init__(self) -> None:
        self.each = self.plain = self.learning = self.weight = 0.0
        self._seconds, self._count = 0.0, 0  # totals of all short situations
        self._longest_answered, self._shortest_ended = 0, inf  # positions

    def note_answer(self, length: int) -> None:
        """Record that the submission has answered at this many positions, rightly or not."""
        self._longest_answered = max(self._longest_answered, length)

    def note_end(self, length: int) -> None:
        """Record that the submission raised, took too long or ended its worker at this many."""
        self._shortest_ended = min(self._shortest_ended, length)

    def is_too_long(self, length: int) -> bool:
        """Return whether it answers nothing so long: shorter ended it, and no longer one came."""
        return length >= self._shortest_ended > self._longest_answered

    def measure(self, work: Work, longest: int, seconds: float) -> None:
        """Record the seconds that a request took whose longest situation has ``longest`` positions.

        A request with positions up to ``SHORT_T`` measures the time of a situation; others measure
        the time of a score, if they have enough scores, or take long for a single situation. One
        with more numbers in its weights than scores measures the time of such a number instead.
        """
        if work.situations == 1 and work.weights > max(MIN_TIMED_WEIGHTS, work.size):
            self.weight = max(self.weight, seconds / work.weights)
            if self.weight > SLOW_S_PER_WEIGHT:
                return
        if longest <= SHORT_T:
            self._seconds, self._count = self._seconds + seconds, self._count + work.situations
            self.each = self._seconds / self._count
        elif work.size > MIN_TIMED_SCORES or (seconds > MIN_TIMED_S and work.situations == 1):
            rate = max(seconds - work.situations * self.each, 0.0) / work.size
            if work.plain:
                self.plain = max(rate, (rate + self.plain) / 2)
            if work.learning:
                rate *= BACKWARD_COST
                self.learning = max(rate, (rate + self.learning) / 2)

    def needs_long(self, weights: int, limit: float) -> bool:
        """Return whether a submission that is slow for each weight may need more than a limit.

        Products in Python loops are that slow: such a submission is right where it is waited for.
        """
        return self.weight > SLOW_S_PER_WEIGHT and MARGIN * self.weight * weights > limit

    @property
    def is_slow(self) -> bool:
        """Whether the submission is so slow that long situations may take too much time."""
        return max(self.plain, self.learning / BACKWARD_COST) > SLOW_S_PER_SCORE

    def is_too_much(self, scores: int) -> bool:
        """Return whether the submission is slow, and so many scores may exceed its memory.

        A slow one may keep tensors of its own for each score until the backward.
        """
        return self.is_slow and scores > MAX_SLOW_SCORES

    def seconds_for(self, work: Work) -> float:
        """Return the expected seconds of processor time for some work.

        Each situation and each attention score takes the time that was measured. For scores with
        gradients, until they were measured, it is estimated from those without, and vice versa.
        """
        plain = self.plain or self.learning / BACKWARD_COST
        learning = self.learning or self.plain * BACKWARD_COST
        return work.situations * self.each + work.plain * plain + work.learning * learning
