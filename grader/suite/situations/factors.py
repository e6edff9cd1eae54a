"""The model of a contract's situations: factors with their levels, and which levels cannot meet.

Levels of different factors meet in a row that has all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Row = Mapping[str, str]  # the level of each factor, by the factor's name

# A rule: the factors that it is about, and a function that tells whether a row's levels can meet.
Rule = tuple[tuple[str, ...], Callable[[Row], bool]]

# A level that is preferred where any would do: its factor, the level, and in which rows.
Wish = tuple[str, str, Callable[[Row], bool]]

ABSENT = "-"  # level of a factor that a situation lacks, such as the mask's dtype without a mask


@dataclass(frozen=True)
class Factor:
    """A condition that may vary, with the levels that it may have."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class FactorModel:
    """The factors of a contract's situations, and what is known of their combinations.

    Attributes:
        rules: Which levels cannot meet.
        triples: Triples of factors of which every three levels meet, not only every two.
        wishes: Which levels are preferred where any would do, the most important first.
        extremes: Rows that are tried in addition to those of the covering array.
    """

    factors: tuple[Factor, ...]
    rules: tuple[Rule, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    wishes: tuple[Wish, ...] = ()
    extremes: tuple[Row, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Drop rules, triples and wishes about factors or levels that the model does not have."""
        levels = {factor.name: factor.levels for factor in self.factors}
        rules = tuple(rule for rule in self.rules if set(rule[0]) <= set(levels))
        object.__setattr__(self, "rules", rules)
        triples = tuple(three for three in self.triples if set(three) <= set(levels))
        object.__setattr__(self, "triples", triples)
        wishes = tuple(wish for wish in self.wishes if wish[1] in levels.get(wish[0], ()))
        object.__setattr__(self, "wishes", wishes)
