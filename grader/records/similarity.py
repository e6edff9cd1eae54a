"""Similarity and its parts: which submissions of a batch are close."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """Two submissions that are close.

    Attributes:
        first: The one's name, before the other's in the alphabet.
        second: The other's.
        score: 6.0 where one pair of strangers in a million comes as close, 7.0 for ten million, and
            so on; it takes what two share as independent, which is not quite so.
        spans_first: The lines of the first that the second shares and few others, from and to.
        spans_second: Those of the second.
        evidence: ``same code``, ``same structure``, ``same names``, ``same comments or strings``.
    """

    first: str
    second: str
    score: float
    spans_first: tuple[Span, ...]
    spans_second: tuple[Span, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Three or more submissions, each close to another of them.

    Attributes:
        names: In alphabetical order.
        same_code: Whether the code of all is the same.
    """

    names: tuple[str, ...]
    same_code: bool


@dataclass(frozen=True)
class LeftOut:
    """A submission that was not compared, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Similarity:
    """What came of comparing a batch.

    Attributes:
        pairs: Each submission with the one closest to it; the same code first, then by score. Of
            those with the same code only two are a pair.
        groups: Pairs that hang together, the largest group first.
        compared: How many submissions were compared.
        left_out: Those that were not.
        too_short: Whether most submissions hold too little of their own to tell a copy from chance.
        says: All that in a few sentences.
    """

    pairs: tuple[Pair, ...]
    groups: tuple[Group, ...]
    compared: int
    left_out: tuple[LeftOut, ...]
    too_short: bool
    says: str
