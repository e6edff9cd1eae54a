"""How far chance explains what two submissions share.

For every trait (a statement, a name, a comment) there is a chance that a stranger, who copied
nothing, has it too: its share among the other submissions of the batch and the known answers. A
copy would have it nearly always. The logarithm of the ratio of these two, added up over the traits
that two submissions share and those that only one of them has, is the weight of evidence, as in
record linkage: Fellegi and Sunter 1969.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.hiring.tokens import TRAIT_KINDS, TraitSets

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

KEPT_SHARES = (0.5, 0.9)  # of a kind's traits that a copy keeps, unless it keeps none
# For each kind, the share of strangers that is assumed to have a trait before any are counted; it
# counts as much as PRIOR_STRANGERS strangers. Contract and habit make statements and names alike,
# but nothing does so to sentences.
USUAL_SHARES = (0.5, 0.5, 0.1)
PRIOR_STRANGERS = 6
# A person's traits are correlated: whoever writes one unusual line writes the next as well. If they
# were taken as independent, three such lines would be proof. So no trait counts as rarer than this
# part of the usual share: then strangers are listed about as seldom as the threshold says (see the
# benchmark).
MIN_SHARE_OF_USUAL = 1 / 5
EXPECTED_CHANCE_PAIRS = 0.05  # of strangers in one batch, near enough to be listed
MIN_PAIRS = 100  # assumed in a small batch, where less is known of what is usual
RARE_BELOW_SHARE = 0.5  # of strangers; a trait that is rarer is marked


class ScoredPair(NamedTuple):
    """Two submissions and the evidence that they were not written independently.

    Attributes:
        first: The index of one submission.
        second: A greater index; or the same one, as submissions with the same code share an index.
        evidence: The weight of evidence, as a natural logarithm.
    """

    first: int
    second: int
    evidence: float


class Evidence:
    """The evidence between the submissions of a batch, all kinds together.

    Attributes:
        threshold: The evidence from which two submissions are near enough to be listed.
    """

    def __init__(
        self,
        trait_sets: Sequence[TraitSets],
        known_answers: Sequence[TraitSets],
        stub_traits: TraitSets,
    ) -> None:
        """Count the traits.

        Args:
            trait_sets: The traits of each submission.
            known_answers: The traits of each right answer that was written independently.
            stub_traits: The traits of the stub, which are no evidence.
        """
        self._count = len(trait_sets)
        self.threshold = math.log(
            max(math.comb(len(trait_sets), 2), MIN_PAIRS) / EXPECTED_CHANCE_PAIRS
        )
        self._kinds = [
            TraitModel(
                [one[place] for one in trait_sets],
                [one[place] for one in known_answers],
                stub_traits[place],
                usual,
            )
            for place, usual in enumerate(USUAL_SHARES)
        ]
        self._whole = np.cumsum([kind.whole() for kind in self._kinds], axis=0)

    def same(self, number: int) -> ScoredPair:
        """Return the scored pair of two submissions with the same code, which share an index."""
        return ScoredPair(number, number, float(self._whole[-1, number]))

    def unusual_enough(self, kinds: int = len(TRAIT_KINDS)) -> list[int]:
        """Return the indices of submissions unusual enough that a copy of one would be listed.

        The copy keeps all traits of the first ``kinds`` kinds; the other kinds are not counted.
        """
        return np.flatnonzero(self._whole[kinds - 1] >= self.threshold).tolist()

    def nearest(self) -> tuple[list[ScoredPair], Indices]:
        """Return pairs of near submissions, and the label of each submission's group.

        Each submission is paired with the one that has the most evidence with it, if that is at
        least ``threshold``. Submissions have the same label if pairs of at least that much connect
        them.
        """
        found: dict[tuple[int, int], float] = {}
        labels = np.arange(self._count)
        for number in range(self._count):
            row = np.sum([kind.row(number) for kind in self._kinds], axis=0)
            row[number] = -np.inf
            near = np.flatnonzero(row >= self.threshold)
            if len(near):
                other = int(row.argmax())
                found[min(number, other), max(number, other)] = float(row[other])
                joined = np.unique(labels[[number, *near]])
                labels[np.isin(labels, joined)] = joined[0]
        return [ScoredPair(*pair, evidence) for pair, evidence in found.items()], labels

    def by_kind(self, first: int, second: int) -> list[float]:
        """Return the evidence between two submissions, one number for each kind of trait."""
        return [float(kind.row(first)[second]) for kind in self._kinds]

    def rare(self, shared: Sequence[frozenset[str]]) -> set[tuple[str, str]]:
        """Return kind and text of the shared traits that fewer than half of the strangers have."""
        kinds = zip(TRAIT_KINDS, self._kinds, shared, strict=True)
        return {(name, trait) for name, kind, traits in kinds for trait in kind.rare(traits)}


class TraitModel:
    """The traits of one kind in a batch, and the evidence that each gives."""

    def __init__(
        self,
        trait_sets: Sequence[frozenset[str]],
        known_answers: Iterable[frozenset[str]],
        stub_traits: frozenset[str],
        usual: float,
    ) -> None:
        """Count the traits.

        Args:
            trait_sets: The traits of each submission. Submissions with exactly the same traits
                count once, or thirty copies of a rare trait would make it common.
            known_answers: The traits of right answers that were written independently.
            stub_traits: The traits of the stub, which are no evidence.
            usual: This kind's share in ``USUAL_SHARES``.
        """
        self._usual = usual
        forms: dict[frozenset[str], int] = {}
        self._form = np.array(
            [forms.setdefault(h - stub_traits, len(forms)) for h in trait_sets], np.int64
        )
        others = {traits - stub_traits for traits in known_answers} - forms.keys()
        self._index: dict[str, int] = {}
        self._holds = [self._indices(form) for form in forms]
        self._count(others)
        self._weigh()

    def _indices(self, form: frozenset[str]) -> Indices:
        index = self._index
        return np.array(sorted(index.setdefault(t, len(index)) for t in sorted(form)), np.int64)

    def _count(self, others: set[frozenset[str]]) -> None:
        """Count who has which trait, and set the chance that a stranger has it.

        That is done twice: with the two submissions of a pair left out, and with only one left out.
        """
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
        """Return the chance that one more person has a trait, for each trait."""
        share = (np.maximum(holders, 0) + PRIOR_STRANGERS * self._usual) / (
            max(people, 0) + PRIOR_STRANGERS
        )
        return np.maximum(share, MIN_SHARE_OF_USUAL * self._usual)

    def _weigh(self) -> None:
        self._shared: list[Floats] = []
        self._missing: list[Floats] = []
        self._whole: list[Floats] = []
        for kept in KEPT_SHARES:
            chance = np.minimum(self._chance, kept)  # what everybody holds says nothing
            missed = np.log((1 - kept) / (1 - chance))
            self._shared.append(np.log(kept / chance) - missed)
            self._missing.append(np.array([missed[held].sum() for held in self._holds]))
            alone = np.log(kept / np.minimum(self._chance_of_one, kept))
            self._whole.append(np.array([alone[held].sum() for held in self._holds]))

    def row(self, number: int) -> Floats:
        """Return the evidence between one submission and every submission, in natural logarithms.

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
            own = np.maximum(missing, missing[form])  # original: the one with fewer own traits
            way = np.bincount(holders, weights, len(self._holds)) + own
            way[form] = whole[form]
            ways.append(way)
        evidence: Floats = np.logaddexp.reduce(ways) - math.log(len(ways))
        return evidence[self._form]

    def whole(self) -> Floats:
        """Return, for each submission, the evidence that a copy of all its traits would give."""
        ways = [np.zeros(len(self._holds)), *self._whole]
        evidence: Floats = np.logaddexp.reduce(ways) - math.log(len(ways))
        return evidence[self._form]

    def rare(self, traits: frozenset[str]) -> frozenset[str]:
        """Return those of some traits that fewer than half of the strangers have."""
        places = {trait: self._index[trait] for trait in traits if trait in self._index}
        return frozenset(t for t, place in places.items() if self._chance[place] < RARE_BELOW_SHARE)
