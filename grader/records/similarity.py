"""Similarity and its parts: which submissions of a batch are close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Span = tuple[int, int]


@dataclass(frozen=True)
class SimilarPair:
    """Two submissions that are close.

    Attributes:
        first: The name of one submission of the batch.
        second: The name of another one, after it in the alphabet; or the key of an earlier one.
        score: 6.0 if one pair of strangers in a million comes as close, 7.0 if one in ten million,
            and so on; it treats the traits that two share as independent, which is not quite so.
        spans_first: Ranges of the first's lines, as first and last line, that the second shares and
            few others do.
        spans_second: The same ranges of the second.
        evidence: ``same code``, ``same structure``, ``same names``, ``same comments or strings``.
    """

    first: str
    second: str
    score: float
    spans_first: tuple[Span, ...]
    spans_second: tuple[Span, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class SimilarGroup:
    """Three or more submissions, each close to another of them.

    Attributes:
        names: The submissions' names, in alphabetical order, then the keys of earlier ones.
        same_code: Whether all of them have the same code.
    """

    names: tuple[str, ...]
    same_code: bool


@dataclass(frozen=True)
class EarlierSubmission:
    """A submission of an earlier batch.

    Attributes:
        name: The name that its author had there.
        batch: The folder of that batch's results, as it was named.
        source: Its text.
    """

    name: str
    batch: str
    source: str


@dataclass(frozen=True)
class LeftOut:
    """A submission that was not compared, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Similarity:
    """The result of comparing the submissions of a batch.

    Attributes:
        pairs: Each submission with the one closest to it; the same code first, then by score. Of
            several with the same code, only two form a pair.
        groups: Submissions that pairs connect, the largest group first.
        compared: How many submissions were compared.
        left_out: The submissions that were not compared.
        too_short: Whether most submissions hold too little of their own to tell a copy from chance.
        says: A summary of all that in a few sentences.
        earlier: The submissions of earlier batches that pairs and groups have, by key.
    """

    pairs: tuple[SimilarPair, ...]
    groups: tuple[SimilarGroup, ...]
    compared: int
    left_out: tuple[LeftOut, ...]
    too_short: bool
    says: str
    earlier: Mapping[str, EarlierSubmission] = field(default_factory=dict)
