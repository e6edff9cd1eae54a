"""Similar submissions of a batch for the templates: pairs side by side, and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.outputs.source_listing import SourceLine, list_source
from grader.records import SimilarGroup, Similarity, SimilarPair

MAX_NAMED_CANDIDATES = 40  # of a group; the others are only counted


@dataclass(frozen=True)
class NumberedCandidate:
    """A candidate: the number shown in place of the name, and the name itself."""

    number: int
    name: str


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
        digits: The rounded score: of 10 to this power pairs of strangers, one comes as close.
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
    return {name for pair in found.pairs for name in (pair.first, pair.second)}


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

    def side(name: str, spans: Sequence[tuple[int, int]]) -> PairSide:
        return PairSide(
            NumberedCandidate(numbers[name], name), list_source(sources[name], {}), spans
        )

    def pair(one: SimilarPair) -> ShownPair:
        sides = [side(one.first, one.spans_first), side(one.second, one.spans_second)]
        sides.sort(key=lambda side: side.who.number)  # alphabetical order would hint at names
        return ShownPair((sides[0], sides[1]), max(round(one.score), 0), one.evidence)

    groups = [_group(one, numbers) for one in found.groups]
    return ShownSimilarity(exercise, found, [pair(one) for one in found.pairs], groups)


def _group(found: SimilarGroup, numbers: Mapping[str, int]) -> ShownGroup:
    people = sorted(
        (NumberedCandidate(numbers[name], name) for name in found.names), key=lambda w: w.number
    )
    return ShownGroup(
        people[:MAX_NAMED_CANDIDATES], len(people[MAX_NAMED_CANDIDATES:]), found.same_code
    )
