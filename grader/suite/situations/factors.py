"""What a contract's situations are made of: factors with their levels, and what cannot meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Row = Mapping[str, str]  # the level of each factor, by the factor's name

# What cannot meet: the factors that it is about, and whether their levels can.
Rule = tuple[tuple[str, ...], Callable[[Row], bool]]

# What is preferred where any level would do: a factor, its level, and in which rows.
Wish = tuple[str, str, Callable[[Row], bool]]

NONE = "-"  # the level of what a situation does not have, such as the dtype of no mask


@dataclass(frozen=True)
class Factor:
    """A condition that may vary, by its levels."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """What a contract's situations are made of.

    Attributes:
        rules: What cannot meet.
        delicate: Three factors of which every three levels meet, not every two alone.
        wishes: Which levels are preferred where any would do, the most important first.
        extremes: Rows that are tried beside those in which all levels meet.
    """

    factors: tuple[Factor, ...]
    rules: tuple[Rule, ...] = ()
    delicate: tuple[tuple[str, str, str], ...] = ()
    wishes: tuple[Wish, ...] = ()
    extremes: tuple[Row, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Leave out what is about factors or levels that are not there."""
        levels = {factor.name: factor.levels for factor in self.factors}
        rules = tuple(rule for rule in self.rules if set(rule[0]) <= set(levels))
        object.__setattr__(self, "rules", rules)
        delicate = tuple(three for three in self.delicate if set(three) <= set(levels))
        object.__setattr__(self, "delicate", delicate)
        wishes = tuple(wish for wish in self.wishes if wish[1] in levels.get(wish[0], ()))
        object.__setattr__(self, "wishes", wishes)
