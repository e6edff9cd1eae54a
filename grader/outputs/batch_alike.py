"""Similar submissions of a batch for the templates: pairs side by side, and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.outputs.source_listing import SourceLine, list_source
from grader.records import SimilarGroup, Similarity, SimilarPair

MIN_DIGITS = 3  # from which on it is told how few strangers come as close; below, many do
MAX_NAMED_CANDIDATES = 40  # of a group; the others are only counted


@dataclass(frozen=True)
class NumberedCandidate:
    """A candidate: the number shown in place of the name, and the name itself.

    Attributes:
        number: The number; 0 for somebody of an earlier batch.
        earlier: The earlier batch; empty for a candidate of this one.
    """

    number: int
    name: str
    earlier: str = ""


@dataclass(frozen=True)
class PairSide:
    """One of the two submissions of a pair.

    Attributes:
        lines: The lines of its source.
        spans: The first and last line of each passage that the other submission has as well, and
            few others have.
    """

    who: NumberedCandidate
    lines: Sequence[SourceLine]
    spans: Sequence[tuple[int, int]]

    @property
    def shared(self) -> set[int]:
        """The numbers of all lines in the spans."""
        return {line for first, last in self.spans for line in range(first, last + 1)}


@dataclass(frozen=True)
class ShownPair:
    """A pair of similar submissions as the templates need it.

    Attributes:
        digits: The rounded score: of 10 to this power pairs of strangers, one comes as close; 0 if
            that tells little, as of the same code where much of it is usual.
        evidence: Which kinds of trait the two share, such as ``same names``.
    """

    sides: tuple[PairSide, PairSide]
    digits: int
    evidence: Sequence[str]


@dataclass(frozen=True)
class ShownGroup:
    """A group of similar submissions as the templates need it.

    Attributes:
        people: The candidates that are named, at most ``MAX_NAMED_CANDIDATES``.
        more: The number of further candidates in the group.
        same_code: Whether all of the group have the same code.
    """

    people: Sequence[NumberedCandidate]
    more: int
    same_code: bool


@dataclass(frozen=True)
class ShownSimilarity:
    """The similar submissions of one exercise as the templates need them."""

    exercise: str
    found: Similarity
    pairs: Sequence[ShownPair]
    groups: Sequence[ShownGroup]

    @property
    def left_out(self) -> list[tuple[str, int]]:
        """The reasons why submissions were not compared, each with the number of submissions."""
        return Counter(one.why for one in self.found.left_out).most_common()


def candidates_in_pairs(found: Similarity) -> set[str]:
    """Return the names of all candidates in a pair, whose sources are shown side by side."""
    names = {name for pair in found.pairs for name in (pair.first, pair.second)}
    return names - found.earlier.keys()


def shown_similarity(
    exercise: str, found: Similarity, numbers: Mapping[str, int], sources: Mapping[str, str]
) -> ShownSimilarity:
    """Prepare the similar submissions of one exercise for the templates.

    Args:
        exercise: The exercise's name.
        found: The result of comparing its submissions.
        numbers: The number of every candidate, by name.
        sources: The source of each candidate in ``candidates_in_pairs``, by name.
    """
    before = {key: one.source for key, one in found.earlier.items()}

    def side(name: str, spans: Sequence[tuple[int, int]]) -> PairSide:
        source = before[name] if name in before else sources[name]
        return PairSide(_person(name, found, numbers), list_source(source, {}), spans)

    def pair(one: SimilarPair) -> ShownPair:
        sides = [side(one.first, one.spans_first), side(one.second, one.spans_second)]
        # In the order of the alphabet they would hint at names.
        sides.sort(key=lambda side: (side.who.earlier, side.who.number))
        digits = round(one.score)
        return ShownPair((sides[0], sides[1]), digits * (digits >= MIN_DIGITS), one.evidence)

    groups = [_group(one, found, numbers) for one in found.groups]
    return ShownSimilarity(exercise, found, [pair(one) for one in found.pairs], groups)


def _group(one: SimilarGroup, found: Similarity, numbers: Mapping[str, int]) -> ShownGroup:
    people = sorted(
        (_person(name, found, numbers) for name in one.names),
        key=lambda who: (who.earlier, who.number),
    )
    return ShownGroup(
        people[:MAX_NAMED_CANDIDATES], len(people[MAX_NAMED_CANDIDATES:]), one.same_code
    )


def _person(name: str, found: Similarity, numbers: Mapping[str, int]) -> NumberedCandidate:
    """Return who is meant by a name of this batch, or by the key of an earlier submission."""
    if name in found.earlier:
        return NumberedCandidate(0, found.earlier[name].name, found.earlier[name].batch)
    return NumberedCandidate(numbers[name], name)
