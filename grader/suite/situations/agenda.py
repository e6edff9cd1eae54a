"""Decide which situations to try next, how many at once, and which of them with fewer positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log2

from grader.sandbox.pace import SHORT_T, Pace, Work
from grader.suite.situations.places import Place, Places
from grader.suite.situations.situation import Situation
from grader.suite.sizes import Sizes

SITUATIONS_PER_REQUEST = 16  # while the worker is busy, others are drawn and judged
MAX_SLOW_REQUEST_S = 2.0  # expected duration of a request of several slow situations
MAX_LONG_TIME_SHARE = 0.35  # of the time left, for all long situations together, if slow
MAX_LONGEST_TIME_SHARE = 0.5  # of the time for long situations, for the single longest
# Positions; once all shorter situations were tried, they tell how long a long one takes.
CALIBRATION_LENGTH = 50
MAX_SHORT_SITUATION_S = 3.0  # expected; above this even a short situation gets only 2 positions

PlacedSituations = list[tuple[Place, Situation]]


class Agenda:
    """The situations that are still to be tried, and their order.

    At first, many situations are tried in one request, in a random order. Once the submission is
    seen to be slow, they are tried from the shortest on. Those for which there is no time are drawn
    again with few positions, except one, which is as long as the time allows.

    Args:
        places: The contract's situations, each drawn on request.
        pace: The submission's speed, as far as it was measured.
        time_left_s: Returns the time left for situations, in seconds of processor time.

    Attributes:
        count: How many situations there are, tried or not.
    """

    def __init__(self, places: Places, pace: Pace, time_left_s: Callable[[], float]) -> None:
        self._places = places
        self._pace = pace
        self._time_left_s = time_left_s
        self._requests = places.requests(SITUATIONS_PER_REQUEST)
        self.count = sum(map(len, self._requests))
        self._rest: PlacedSituations | None = None  # a list once situations are chosen one by one
        self._one_per_request = self._has_a_long_one = False
        self._last = inf  # positions; situations with as many or more are tried last
        self._too_long: list[Situation] = []
        self._for_long = MAX_LONG_TIME_SHARE * time_left_s()

    @property
    def is_plain(self) -> bool:
        """Whether situations are still sent in the requests laid out at the beginning."""
        return self._rest is None and not self._pace.is_slow

    def next(self) -> PlacedSituations:
        """Return the situations of the next request; an empty list once all were tried."""
        if self.is_plain:
            return self._drawn(self._requests.pop(0)) if self._requests else []
        self.rest.sort(key=self._order)
        if self._pace.is_slow and not self._has_a_long_one and self.rest:
            self._bring_a_long_one_forward()
        return self._as_many_as_fit()

    @property
    def rest(self) -> PlacedSituations:
        """The situations still to be tried; once this is read, they are chosen one by one."""
        if self._rest is None:
            self._rest = self._drawn([place for some in self._requests for place in some])
        return self._rest

    def put_back(self, chosen: PlacedSituations, one_per_request: bool = False) -> None:
        """Put back situations not tried; with ``one_per_request``, later requests have one each."""
        self._one_per_request |= one_per_request
        if one_per_request or self._rest is not None:
            self.rest[:0] = chosen
        elif chosen:
            self._requests.insert(0, [place for place, _ in chosen])

    def _order(self, one: tuple[Place, Situation]) -> tuple[bool, int]:
        """Return a sort key: small situations are tried first, by scores, and by weights if alone.

        Once a request has ended the worker, small ones tell how long larger ones take.
        """
        work, is_last = one[1].work, one[1].sizes.length >= self._last
        return is_last, work.size + (work.weights if self._one_per_request else 0)

    def drop_as_wide(self, weights: int) -> None:
        """Try no more situations with at least this many numbers in their weights."""
        self.rest[:] = [one for one in self.rest if one[1].work.weights < weights]

    def put_last(self, length: int) -> None:
        """Try situations with at least this many positions last."""
        self._last = min(self._last, length)

    def too_slow(self, tried: Sequence[Sizes]) -> str:
        """Return why none of the longest situations was tried; empty if one was.

        Args:
            tried: Sizes of the situations that were tried.
        """
        wanted = max((length_exponent(one.sizes) for one in self._too_long), default=0)
        if max(map(length_exponent, tried), default=0) >= wanted:
            return ""
        long = [one for one in self._too_long if length_exponent(one.sizes) == wanted]
        least = min(long, key=self._expected_seconds)
        seconds, longest = self._expected_seconds(least), max(one.length for one in tried)
        length = least.sizes.length
        if seconds == inf:
            return f"{length} positions may take more memory than there is: tried up to {longest}"
        return f"{length} positions would take {seconds:.0f} s: tried up to {longest}"

    def _drawn(self, places: Sequence[Place]) -> PlacedSituations:
        return [(place, self._places.situation(place)) for place in places]

    def _bring_a_long_one_forward(self) -> None:
        """Move the longest situation that there is time for to the front, once speed is known."""
        if self.rest[0][1].sizes.length < CALIBRATION_LENGTH:
            return
        self._has_a_long_one = True
        most = MAX_LONGEST_TIME_SHARE * self._for_long
        fit = [one for one in self.rest if self._expected_seconds(one[1]) <= most]
        if fit:
            chosen = max(fit, key=self._shows_length)
            self.rest.remove(chosen)
            self.rest.insert(0, chosen)

    def _shows_length(self, one: tuple[Place, Situation]) -> tuple[int, bool, float]:
        """Return a sort key by which to choose one long situation: by length, then by no backward.

        Short situations tell too little about the time that a long backward takes.
        """
        _, situation = one
        return (
            length_exponent(situation.sizes),
            not situation.wants_gradients,
            -self._expected_seconds(situation),
        )

    def _as_many_as_fit(self) -> PlacedSituations:
        found: PlacedSituations = []
        seconds = 0.0
        while self.rest and len(found) < (1 if self._one_per_request else SITUATIONS_PER_REQUEST):
            self._shorten_the_first(self._time_left_s() - seconds)
            _, situation = self.rest[0]
            takes = self._expected_seconds(situation)
            alike = not found or situation.wants_gradients == found[0][1].wants_gradients
            if not alike or (found and seconds + takes > MAX_SLOW_REQUEST_S):
                break  # otherwise nobody would know which situation took so long
            seconds += takes
            self._for_long -= takes if situation.sizes.length > SHORT_T else 0
            found.append(self.rest.pop(0))
        return found

    def _shorten_the_first(self, time_left_s: float) -> None:
        """Redraw the next situation with fewer positions if there is no time for it as it is."""
        place, situation = self.rest[0]
        if situation.sizes.length > SHORT_T:
            free = min(
                self._for_long,
                time_left_s - sum(self._shortened_seconds(one) for _, one in self.rest[1:]),
            )
            if self._expected_seconds(situation) > free:
                self._too_long.append(situation)
                situation = self._places.shortened(place, "small")
        if (
            SHORT_T >= situation.sizes.length > 2
            and self._expected_seconds(situation) > MAX_SHORT_SITUATION_S
        ):
            situation = self._places.shortened(place, "2")
        self.rest[0] = (place, situation)

    def _shortened_seconds(self, situation: Situation) -> float:
        """Return the expected seconds for a situation if it were redrawn with few positions."""
        part = min(SHORT_T / situation.sizes.length, 1.0)
        scores = int(situation.sizes.scores * part**2)
        return self._pace.seconds_for(Work.of(scores, situation.wants_gradients, 1))

    def _expected_seconds(self, situation: Situation) -> float:
        """Return a situation's expected seconds; infinity if its backward may exceed the memory."""
        if self._pace.is_too_much(situation.sizes.scores):
            return inf
        return self._pace.seconds_for(situation.work)


def length_exponent(sizes: Sizes) -> int:
    """Return the exponent of the power of two nearest to the length.

    Two situations with the same exponent are about as long.
    """
    return round(log2(sizes.length))
