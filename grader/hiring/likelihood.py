"""How far chance explains what two submissions share.

Every trait (a statement, a name, a comment) has a chance that a stranger holds it too: its share
among the others of the batch and the known answers. A copy would hold it nearly always. The
logarithm of the one by the other, added up over what two submissions share and what only one of
them holds, is the weight of evidence, as in the linkage of records: Fellegi and Sunter 1969.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.hiring.tokens import KINDS, TraitSets

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

KEPT = (0.5, 0.9)  # what a copy keeps of a kind: half or nearly all, if it keeps anything
# The share that holds a trait as long as nothing is known of it, for each kind; to change it takes
# some strangers. Contract and habit make statements and names alike; nothing does so to sentences.
USUAL = (0.5, 0.5, 0.1)
DOUBT = 6
# Strangers' traits hang together: who writes one line of an unusual kind writes the next as well.
# Taken as independent, three such lines would be proof. So none counts as rarer than this part of
# the usual: then strangers are listed about as seldom as the threshold says (see the benchmark).
RAREST = 1 / 5
CHANCE_PAIRS = 0.05  # how many pairs of strangers may come near enough, over one batch
LEAST_PAIRS = 100  # so many are allowed for in a batch of two: what is usual is known less well
RARE = 0.5  # what fewer than this share hold is worth marking


class ScoredPair(NamedTuple):
    """Two submissions and the evidence that they are no strangers.

    Attributes:
        first: The number of the one.
        second: A greater number, or the same one for two whose code is the same.
        evidence: In natural logarithms.
    """

    first: int
    second: int
    evidence: float


class Evidence:
    """The evidence between the submissions of a batch, all kinds together.

    Attributes:
        least: What is near enough.
    """

    def __init__(
        self, held: Sequence[TraitSets], known: Sequence[TraitSets], given: TraitSets
    ) -> None:
        """Count what is held: by the submissions, by known answers, by the stub."""
        self._count = len(held)
        self.least = math.log(max(math.comb(len(held), 2), LEAST_PAIRS) / CHANCE_PAIRS)
        self._kinds = [
            TraitModel(
                [one[place] for one in held], [one[place] for one in known], given[place], usual
            )
            for place, usual in enumerate(USUAL)
        ]
        self._whole = np.cumsum([kind.whole() for kind in self._kinds], axis=0)

    def same(self, number: int) -> ScoredPair:
        """What two whose code is the same would be."""
        return ScoredPair(number, number, float(self._whole[-1, number]))

    def telling(self, kinds: int = len(KINDS)) -> list[int]:
        """Those of whom a copy would be near enough that takes over the first so many kinds."""
        return np.flatnonzero(self._whole[kinds - 1] >= self.least).tolist()

    def nearest(self) -> tuple[list[ScoredPair], Indices]:
        """Each one's nearest where it is near enough; a label that all who hang together share."""
        found: dict[tuple[int, int], float] = {}
        labels = np.arange(self._count)
        for number in range(self._count):
            row = np.sum([kind.row(number) for kind in self._kinds], axis=0)
            row[number] = -np.inf
            near = np.flatnonzero(row >= self.least)
            if len(near):
                other = int(row.argmax())
                found[min(number, other), max(number, other)] = float(row[other])
                joined = np.unique(labels[[number, *near]])
                labels[np.isin(labels, joined)] = joined[0]
        return [ScoredPair(*pair, evidence) for pair, evidence in found.items()], labels

    def by_kind(self, first: int, second: int) -> list[float]:
        """The evidence of each kind."""
        return [float(kind.row(first)[second]) for kind in self._kinds]

    def rare(self, shared: Sequence[frozenset[str]]) -> set[tuple[str, str]]:
        """Kind and text of those traits that fewer than half of the strangers hold."""
        kinds = zip(KINDS, self._kinds, shared, strict=True)
        return {(name, trait) for name, kind, traits in kinds for trait in kind.rare(traits)}


class TraitModel:
    """The traits of one kind in a batch, and what each says."""

    def __init__(
        self,
        held: Sequence[frozenset[str]],
        known: Iterable[frozenset[str]],
        given: frozenset[str],
        usual: float,
    ) -> None:
        """Count what is held.

        Args:
            held: The traits of each submission. Those who hold exactly the same count once, or
                thirty copies of a rare thing would make it common.
            known: The traits of right answers that were written independently.
            given: The traits of the stub, which say nothing.
            usual: Of ``USUAL``.
        """
        self._usual = usual
        forms: dict[frozenset[str], int] = {}
        self._form = np.array([forms.setdefault(h - given, len(forms)) for h in held], np.int64)
        others = {traits - given for traits in known} - forms.keys()
        self._index: dict[str, int] = {}
        self._holds = [self._indices(form) for form in forms]
        self._count(others)
        self._weigh()

    def _indices(self, form: frozenset[str]) -> Indices:
        index = self._index
        return np.array(sorted(index.setdefault(t, len(index)) for t in sorted(form)), np.int64)

    def _count(self, others: set[frozenset[str]]) -> None:
        """Who holds what, and how likely a stranger of two holders, or of one, does."""
        flat = np.concatenate([*self._holds, np.empty(0, np.int64)])
        sizes = np.array([len(held) for held in self._holds], np.int64)
        forms = np.repeat(np.arange(len(sizes)), sizes)
        self._holders = forms[np.argsort(flat, kind="stable")]
        counts = np.bincount(flat, minlength=len(self._index))
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        for traits in others:
            counts[[self._index[trait] for trait in traits if trait in self._index]] += 1
        people = len(self._holds) + len(others)
        self._chance = self._share(counts - 2, people - 2)
        self._chance_of_one = self._share(counts - 1, people - 1)

    def _share(self, holders: Indices, people: int) -> Floats:
        """The chance that one more person holds a trait."""
        share = (np.maximum(holders, 0) + DOUBT * self._usual) / (max(people, 0) + DOUBT)
        return np.maximum(share, RAREST * self._usual)

    def _weigh(self) -> None:
        self._shared: list[Floats] = []
        self._missing: list[Floats] = []
        self._whole: list[Floats] = []
        for kept in KEPT:
            chance = np.minimum(self._chance, kept)  # what everybody holds says nothing
            missed = np.log((1 - kept) / (1 - chance))
            self._shared.append(np.log(kept / chance) - missed)
            self._missing.append(np.array([missed[held].sum() for held in self._holds]))
            alone = np.log(kept / np.minimum(self._chance_of_one, kept))
            self._whole.append(np.array([alone[held].sum() for held in self._holds]))

    def row(self, number: int) -> Floats:
        """The evidence that each submission and this one are no strangers, in natural logarithms.

        With itself it is the evidence that a copy of everything would give.
        """
        form = self._form[number]
        held = self._holds[form]
        starts, ends = self._starts[held], self._starts[held + 1]
        pieces = [self._holders[a:b] for a, b in zip(starts, ends, strict=True)]
        holders = np.concatenate([*pieces, np.empty(0, np.int64)])
        ways = [np.zeros(len(self._holds))]
        for shared, missing, whole in zip(self._shared, self._missing, self._whole, strict=True):
            weights = np.repeat(shared[held], ends - starts)
            own = np.maximum(missing, missing[form])  # the one with less of its own is the source
            way = np.bincount(holders, weights, len(self._holds)) + own
            way[form] = whole[form]
            ways.append(way)
        evidence: Floats = np.logaddexp.reduce(ways) - math.log(len(ways))
        return evidence[self._form]

    def whole(self) -> Floats:
        """For each submission, the evidence that a copy of all its traits would give."""
        ways = [np.zeros(len(self._holds)), *self._whole]
        evidence: Floats = np.logaddexp.reduce(ways) - math.log(len(ways))
        return evidence[self._form]

    def rare(self, traits: frozenset[str]) -> frozenset[str]:
        """Those of some traits that fewer than half of the strangers hold."""
        places = {trait: self._index[trait] for trait in traits if trait in self._index}
        return frozenset(t for t, place in places.items() if self._chance[place] < RARE)
