"""The situations of a grading, in their order, each drawn when it is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple, Protocol

from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.situations import filling, levels
from grader.suite.situations.covering import rows_of
from grader.suite.situations.factors import Model, Row
from grader.suite.situations.filling import Situation
from grader.suite.situations.trying import Tried

CACHED_LISTS = 12  # of situations, of some 30 MB each: the exercises that a batch goes through
SHORT_LEVELS = ("1", "2", "small", "as T")  # of no more than ``SHORT`` positions
LADDER = (("about 16", "about 32"), ("about 64",))  # lengths, of which few are tried first


class SituationModel(Protocol):
    """What the situations of a kind of contract are."""

    def model(self, contract: Contract) -> Model:
        """Their factors."""

    def fill(self, harness: Harness, row: Row, turn: int) -> Situation:
        """One of them; as ``filling.fill`` has it."""

    def tried(self, harness: Harness, situation: Situation) -> Tried:
        """One that is planned."""


class _Any:
    """Those of any contract."""

    model = staticmethod(levels.model_of)
    fill = staticmethod(filling.fill)
    tried = staticmethod(Tried)


def kind_of(contract: Contract) -> SituationModel:
    """What the situations of a contract are."""
    found: SituationModel = contract.kind or _Any()
    return found


@cache
def model_of(contract: Contract) -> Model:
    """What the situations of a contract are made of."""
    return kind_of(contract).model(contract)


class Place(NamedTuple):
    """Where a situation stands among those of a grading.

    Attributes:
        number: From 0.
        row: The level of each factor.
        turn: How many before it are about as long.
    """

    number: int
    row: Row
    turn: int

    @property
    def lengths(self) -> set[str]:
        """The levels of how many positions there are."""
        return {self.row.get(letter, "1") for letter in "TS"}

    @property
    def is_short(self) -> bool:
        """Whether it has few positions."""
        return self.lengths <= {*SHORT_LEVELS}


class Places:
    """The situations of a contract in one grading: for the same seed, the same ones.

    Args:
        harness: Draws them.
        each: Of so many situations one is tried.
    """

    def __init__(self, harness: Harness, each: int = 1) -> None:
        self._harness = harness
        self._kind = kind_of(harness.contract)
        self._seed = derive_seed(harness.seed, "situations")
        self._made = _made(harness.contract.oracle, harness.contract.sizes, self._seed)
        self._each = each

    def __iter__(self) -> Iterator[Place]:
        """All of them, in an order that is drawn."""
        model, as_long = model_of(self._harness.contract), Counter[str]()
        for number, row in enumerate((*rows_of(model, Draw(self._seed)), *model.extremes)):
            length = row.get("T", "")
            if number % self._each == 0:
                yield Place(number, row, as_long[length])
            as_long[length] += 1

    def requests(self, size: int) -> list[list[Place]]:
        """The same in requests of so many: some short ones first, then few that are longer.

        So it is soon known what takes how long, and longer ones can be drawn to fit.
        """
        left, first = list(self), []
        for is_meant, count in (
            (lambda one: one.is_short, size),
            *((lambda one, some=some: one.lengths & {*some}, size // 2) for some in LADDER),
            (lambda one: one.is_short, size),  # while the ones before are measured
        ):
            chosen = [one for one in left if is_meant(one)][:count]
            left = [one for one in left if one not in chosen]
            first.append(chosen)
        first += [left[start : start + size] for start in range(0, len(left), size)]
        return [some for some in first if some]

    def situation(self, place: Place) -> Situation:
        """The one at a place: made once for a batch."""
        if place.number not in self._made:
            self._made[place.number] = self._drawn(str(place.number), place.row, place.turn)
        return self._made[place.number]

    def shortened(self, place: Place, level: str) -> Situation:
        """The same conditions, at as many positions as a level has at most."""
        shorter = SHORT_LEVELS[: SHORT_LEVELS.index(level)]
        longer = {n for n in "TS" if place.row.get(n, "1") not in (*shorter, "as T")}
        row = {**place.row, **dict.fromkeys(longer, level)}
        return self._drawn(f"{place.number} {level}", row, place.turn)

    def _drawn(self, name: str, row: Row, turn: int) -> Situation:
        draw = Draw(derive_seed(self._seed, name))
        return self._kind.fill(self._harness.drawing(draw), row, turn)


def situations_of(harness: Harness) -> Iterator[Situation]:
    """All situations of a contract."""
    places = Places(harness)
    return map(places.situation, places)


@lru_cache(maxsize=CACHED_LISTS)
def _made(*drawn_for: object) -> dict[int, Situation]:
    """Those that are made already, by their places; more are added."""
    return {}


def forget() -> None:
    """Let what was made for gradings that are over go."""
    _made.cache_clear()
