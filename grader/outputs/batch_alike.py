"""Submissions of a batch that are worth a look together, both sources side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.outputs.source_listing import Line, list_source
from grader.records import Group, Pair, Similarity

NAMED = 40  # of a group, at most


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
    found: Similarity
    pairs: Sequence[ShownPair]
    groups: Sequence[ShownGroup]

    @property
    def left_out(self) -> list[tuple[str, int]]:
        """Why some were not compared, and how many."""
        return Counter(one.why for one in self.found.left_out).most_common()


def wanted(found: Similarity) -> set[str]:
    """The candidates whose sources are to be shown."""
    return {name for pair in found.pairs for name in (pair.first, pair.second)}


def show_alike(
    exercise: str, found: Similarity, numbers: Mapping[str, int], sources: Mapping[str, str]
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
