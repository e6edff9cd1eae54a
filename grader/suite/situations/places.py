"""The situations of a grading in their order, each drawn when it is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.situations import filling, modelling
from grader.suite.situations.covering import rows_of
from grader.suite.situations.factors import FactorModel, Row
from grader.suite.situations.judging import NO_FURTHER_CLAIMS, FurtherClaims
from grader.suite.situations.lengths import SHORT_LEVELS
from grader.suite.situations.situation import Situation
from grader.suite.situations.telling import with_telling_rows
from grader.suite.situations.trying import SituationRun

MAX_CACHED_LISTS = 12  # of situations, some 30 MB each: one per exercise of a batch
# Levels of lengths, of which a few situations are tried early.
EARLY_LEVELS = (("about 16", "about 32"), ("about 64",))


class SituationKind(NamedTuple):
    """How the situations of one kind of contract are modelled, drawn, tried and judged.

    Attributes:
        model: Returns a contract's factors, and what is known of their combinations.
        fill: Draws the numbers of one situation; the arguments are those of ``filling.fill``.
        new_run: Plans the requests of one situation; the result can judge their answers once sent.
        further_claims: What is known of the claims that only contracts of this kind have.
    """

    model: Callable[[Any], FactorModel]
    fill: Callable[[Harness, Row, int], Situation]
    new_run: Callable[[Harness, Any], SituationRun]
    further_claims: FurtherClaims = NO_FURTHER_CLAIMS


GENERAL_SITUATIONS = SituationKind(
    lambda contract: with_telling_rows(modelling.model_of(contract)), filling.fill, SituationRun
)


def kind_of(contract: Contract) -> SituationKind:
    """Return the contract's own ``SituationKind``, or the one that suits any contract."""
    return contract.situation_kind or GENERAL_SITUATIONS


@cache
def model_of(contract: Contract) -> FactorModel:
    """Return the model of a contract's situations, made once per contract."""
    return kind_of(contract).model(contract)


class Place(NamedTuple):
    """The place of a situation among those of a grading, from which its numbers can be drawn.

    Attributes:
        number: The index of the situation, from 0.
        row: The level of each factor.
        turn: How many earlier situations have the same level of T; see ``draw_sizes``.
    """

    number: int
    row: Row
    turn: int

    @property
    def lengths(self) -> set[str]:
        """The levels of the factors T and S, the counts of query and key positions."""
        return {self.row.get(letter, "1") for letter in "TS"}

    @property
    def is_short(self) -> bool:
        """Whether the situation has few positions."""
        return self.lengths <= {*SHORT_LEVELS}


class Places:
    """The situations of a contract in one grading; the same seed gives the same ones.

    Args:
        harness: Gives the contract, the seed and the random numbers.
        every_nth: Of the situations of each dtype, one of this many is tried; 1 for all.
    """

    def __init__(self, harness: Harness, every_nth: int = 1) -> None:
        self._harness = harness
        self._kind = kind_of(harness.contract)
        self._seed = derive_seed(harness.seed, "situations")
        self._drawn_situations = _drawn_situations(harness.contract, self._seed)
        self._every_nth = every_nth

    def __iter__(self) -> Iterator[Place]:
        """Yield the place of each situation to try: its number, its levels, and its turn.

        First come the rows of the covering array, in random order, then the model's extreme rows.
        """
        model, as_long, of_dtype = model_of(self._harness.contract), Counter[str](), Counter[str]()
        for number, row in enumerate((*rows_of(model, Draw(self._seed)), *model.extremes)):
            length, dtype = row.get("T", ""), row["dtype"]
            if of_dtype[dtype] % self._every_nth == 0:
                yield Place(number, row, as_long[length])
            as_long[length] += 1
            of_dtype[dtype] += 1

    def requests(self, size: int) -> list[list[Place]]:
        """Split all situations into requests of ``size`` or fewer: short ones first, then longer.

        This shows the submission's speed early, so that long situations can be drawn to fit it.
        """
        left, first = list(self), []
        for is_meant, count in (
            (lambda one: one.is_short, size),
            *((lambda one, some=some: one.lengths & {*some}, size // 2) for some in EARLY_LEVELS),
            (lambda one: one.is_short, size),  # tried while the longer ones before are measured
        ):
            chosen = [one for one in left if is_meant(one)][:count]
            left = [one for one in left if one not in chosen]
            first.append(chosen)
        first += [left[start : start + size] for start in range(0, len(left), size)]
        return [some for some in first if some]

    def situation(self, place: Place) -> Situation:
        """Return the situation at a place, drawn once for all submissions of a batch."""
        if place.number not in self._drawn_situations:
            self._drawn_situations[place.number] = self._drawn(
                str(place.number), place.row, place.turn
            )
        return self._drawn_situations[place.number]

    def shortened(self, place: Place, level: str) -> Situation:
        """Redraw the situation at a place with at most as many positions as ``level`` allows."""
        shorter = SHORT_LEVELS[: SHORT_LEVELS.index(level)]
        longer = {n for n in "TS" if place.row.get(n, "1") not in (*shorter, "as T")}
        row = {**place.row, **dict.fromkeys(longer, level)}
        return self._drawn(f"{place.number} {level}", row, place.turn)

    def _drawn(self, name: str, row: Row, turn: int) -> Situation:
        draw = Draw(derive_seed(self._seed, name))
        return self._kind.fill(self._harness.drawing(draw), row, turn)


def situations_of(harness: Harness) -> Iterator[Situation]:
    """Iterate over all situations of a contract."""
    places = Places(harness)
    return map(places.situation, places)


def _drawn_situations(contract: Contract, seed: int) -> dict[int, Situation]:
    """Return a cache of drawn situations, by number, to which callers add.

    It is the same cache as long as the contract's oracle and sizes, and the seed, are the same;
    with another seed, what was drawn with the last one is dropped.
    """
    by_seed = _drawn_by_seed(contract.oracle, contract.sizes)
    if seed not in by_seed:
        by_seed.clear()
    return by_seed.setdefault(seed, {})


@lru_cache(maxsize=MAX_CACHED_LISTS)
def _drawn_by_seed(*drawn_for: object) -> dict[int, dict[int, Situation]]:
    """Return a cache of drawn situations by seed and number."""
    return {}


def forget_situations() -> None:
    """Drop all drawn situations, to free their memory."""
    _drawn_by_seed.cache_clear()
