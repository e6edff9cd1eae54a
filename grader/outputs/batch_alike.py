"""Similar submissions of a batch for the templates: pairs side by side, and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.outputs.source_listing import Line, list_source
from grader.records import Group, Pair, Similarity

NAMED = 40  # candidates of a group that are named; the others are only counted


@dataclass(frozen=True)
class Who:
    """A candidate: the number shown in place of the name, and the name itself."""

    number: int
    name: str


@dataclass(frozen=True)
class Side:
    """One of the two submissions of a pair.

    Attributes:
        lines: The lines of its source.
        spans: The first and last line of each passage that the other submission has as well, and
            few others have.
    """

    who: Who
    lines: Sequence[Line]
    spans: Sequence[tuple[int, int]]

    @property
    def shared(self) -> set[int]:
        """The numbers of all lines in the spans."""
        return {line for first, last in self.spans for line in range(first, last + 1)}


@dataclass(frozen=True)
class ShownPair:
    """A pair of similar submissions as the templates need it.

    Attributes:
        digits: The rounded score: of 10 to this power pairs of strangers, one comes as close.
        evidence: Which kinds of trait the two share, such as ``same names``.
    """

    sides: tuple[Side, Side]
    digits: int
    evidence: Sequence[str]


@dataclass(frozen=True)
class ShownGroup:
    """A group of similar submissions as the templates need it.

    Attributes:
        people: The candidates that are named, at most ``NAMED``.
        more: The number of further candidates in the group.
        same_code: Whether all of the group have the same code.
    """

    people: Sequence[Who]
    more: int
    same_code: bool


@dataclass(frozen=True)
class ShownAlike:
    """The similar submissions of one exercise as the templates need them."""

    exercise: str
    found: Similarity
    pairs: Sequence[ShownPair]
    groups: Sequence[ShownGroup]

    @property
    def left_out(self) -> list[tuple[str, int]]:
        """The reasons why submissions were not compared, each with the number of submissions."""
        return Counter(one.why for one in self.found.left_out).most_common()


def wanted(found: Similarity) -> set[str]:
    """Return the names of all candidates in a pair, whose sources are shown side by side."""
    return {name for pair in found.pairs for name in (pair.first, pair.second)}


def show_alike(
    exercise: str, found: Similarity, numbers: Mapping[str, int], sources: Mapping[str, str]
) -> ShownAlike:
    """Prepare the similar submissions of one exercise for the templates.

    Args:
        exercise: The exercise's name.
        found: The result of comparing its submissions.
        numbers: The number of every candidate, by name.
        sources: The source of each candidate in ``wanted``, by name.
    """

    def side(name: str, spans: Sequence[tuple[int, int]]) -> Side:
        return Side(Who(numbers[name], name), list_source(sources[name], {}), spans)

    def pair(one: Pair) -> ShownPair:
        sides = [side(one.first, one.spans_first), side(one.second, one.spans_second)]
        sides.sort(key=lambda side: side.who.number)  # alphabetical order would hint at names
        return ShownPair((sides[0], sides[1]), max(round(one.score), 0), one.evidence)

    groups = [_group(one, numbers) for one in found.groups]
    return ShownAlike(exercise, found, [pair(one) for one in found.pairs], groups)


def _group(found: Group, numbers: Mapping[str, int]) -> ShownGroup:
    people = sorted((Who(numbers[name], name) for name in found.names), key=lambda w: w.number)
    return ShownGroup(people[:NAMED], len(people[NAMED:]), found.same_code)
