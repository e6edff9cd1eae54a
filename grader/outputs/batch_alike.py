"""Submissions of a batch that are worth a look together, both sources side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from grader.outputs.listing import Line, list_source

NAMED = 40  # of a group, at most


class Pair(Protocol):
    """Two submissions that are close; what hiring finds is one."""

    @property
    def first(self) -> str:
        """The one candidate."""

    @property
    def second(self) -> str:
        """The other."""

    @property
    def score(self) -> float:
        """One such pair of strangers in ten to the power of this."""

    @property
    def spans_first(self) -> Sequence[tuple[int, int]]:
        """The lines that the first shares, from and to."""

    @property
    def spans_second(self) -> Sequence[tuple[int, int]]:
        """Those of the second."""

    @property
    def evidence(self) -> Sequence[str]:
        """In a few words each."""


class Group(Protocol):
    """Three or more submissions, each close to another of them."""

    @property
    def names(self) -> Sequence[str]:
        """The candidates."""

    @property
    def same_code(self) -> bool:
        """Whether the code of all is the same."""


class LeftOut(Protocol):
    """A submission that was not compared."""

    @property
    def why(self) -> str:
        """The reason."""


class Alike(Protocol):
    """What came of comparing the submissions of one exercise."""

    @property
    def pairs(self) -> Sequence[Pair]:
        """The closest first."""

    @property
    def groups(self) -> Sequence[Group]:
        """The largest first."""

    @property
    def left_out(self) -> Sequence[LeftOut]:
        """Those that were not compared."""

    @property
    def too_short(self) -> bool:
        """Whether most hold too little of their own to tell a copy from chance."""

    @property
    def says(self) -> str:
        """All that in a few sentences."""


@dataclass(frozen=True)
class Who:
    """A candidate, by the number that stands for the name, and by the name."""

    number: int
    name: str


@dataclass(frozen=True)
class Side:
    """One of two sources.

    Attributes:
        lines: Of the source.
        spans: Those that the other has as well and few others, from and to.
    """

    who: Who
    lines: Sequence[Line]
    spans: Sequence[tuple[int, int]]

    @property
    def shared(self) -> set[int]:
        """The numbers of the lines in the spans."""
        return {line for first, last in self.spans for line in range(first, last + 1)}


@dataclass(frozen=True)
class ShownPair:
    """A pair as the templates need it."""

    sides: tuple[Side, Side]
    digits: int
    evidence: Sequence[str]


@dataclass(frozen=True)
class ShownGroup:
    """A group as the templates need it."""

    people: Sequence[Who]
    more: int
    same_code: bool


@dataclass(frozen=True)
class ShownAlike:
    """What there is to look at together of one exercise."""

    exercise: str
    found: Alike
    pairs: Sequence[ShownPair]
    groups: Sequence[ShownGroup]

    @property
    def left_out(self) -> list[tuple[str, int]]:
        """Why some were not compared, and how many."""
        return Counter(one.why for one in self.found.left_out).most_common()


def wanted(found: Alike) -> set[str]:
    """The candidates whose sources are to be shown."""
    return {name for pair in found.pairs for name in (pair.first, pair.second)}


def show_alike(
    exercise: str, found: Alike, numbers: Mapping[str, int], sources: Mapping[str, str]
) -> ShownAlike:
    """What was found of one exercise, ready to be shown.

    Args:
        exercise: Its name.
        found: What came of comparing its submissions.
        numbers: Of all candidates, by their names.
        sources: Of those who are ``wanted``.
    """

    def side(name: str, spans: Sequence[tuple[int, int]]) -> Side:
        return Side(Who(numbers[name], name), list_source(sources[name], {}), spans)

    def pair(one: Pair) -> ShownPair:
        sides = [side(one.first, one.spans_first), side(one.second, one.spans_second)]
        sides.sort(key=lambda side: side.who.number)  # their order in the alphabet would tell
        return ShownPair((sides[0], sides[1]), max(round(one.score), 0), one.evidence)

    groups = [_group(one, numbers) for one in found.groups]
    return ShownAlike(exercise, found, [pair(one) for one in found.pairs], groups)


def _group(found: Group, numbers: Mapping[str, int]) -> ShownGroup:
    people = sorted((Who(numbers[name], name) for name in found.names), key=lambda w: w.number)
    return ShownGroup(people[:NAMED], len(people[NAMED:]), found.same_code)
