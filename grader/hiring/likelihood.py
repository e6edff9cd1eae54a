"""How far chance explains what two submissions share.

For every trait (an operation, a name, a comment) there is a chance that a stranger, who copied
nothing, has it too; see ``strangers``. A copy would have it nearly always. The logarithm of the
ratio of these two, added up over the traits that two submissions share and those that only one of
them has, is the weight of evidence, as in record linkage: Fellegi and Sunter 1969.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grader.hiring.strangers import NOTHING_KEPT, Floats, Indices, TraitModel, Usual
from grader.hiring.traits import TRAIT_KINDS, TraitSets

# Contract and habit make operations and names alike, but nothing does so to sentences.
USUAL = (Usual(0.5, 0.5, 1), Usual(0.5, 0.3, 1), Usual(0.1, 0.1, 0))
# Pairs of strangers in one batch, near enough to be listed, that there would be if the evidence
# were no more than it says. It is careful: of made-up people, a twentieth of that is listed.
EXPECTED_CHANCE_PAIRS = 1.0
MIN_PAIRS = 8_000  # assumed in a small batch, where less is known of what is usual


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

    Submissions have indices: first those of the batch, then those of earlier batches, then the
    answers that everybody may know. Only pairs with one of the batch are compared.

    Attributes:
        threshold: The evidence from which two submissions are near enough to be listed.
    """

    def __init__(
        self,
        trait_sets: Sequence[TraitSets],
        stub_traits: TraitSets,
        earlier: int = 0,
        known: int = 0,
    ) -> None:
        """Compare the submissions.

        Args:
            trait_sets: The traits of each submission, in the order of the indices.
            stub_traits: The traits of the stub, which are no evidence.
            earlier: How many are of earlier batches.
            known: How many are known to everybody.
        """
        self._count = len(trait_sets)
        self._known = self._count - known
        self._there = self._known - earlier
        pairs = math.comb(self._there, 2) + self._there * earlier
        self.threshold = math.log(max(pairs, MIN_PAIRS) / EXPECTED_CHANCE_PAIRS)
        self._kinds = [
            TraitModel([one[place] for one in trait_sets], stub_traits[place], usual)
            for place, usual in enumerate(USUAL)
        ]
        self._same = np.zeros((len(USUAL), self._there))
        self._renamed = np.zeros(self._there)
        self._most = np.full(self._there, -np.inf)
        self._nearest = np.zeros(self._there, np.int64)
        # Whom each known answer explains: whoever is as near to it as a copy.
        self._explained = np.zeros((known, self._known), bool)
        for number in range(known):
            evidence = np.sum([one.row(self._known + number)[0] for one in self._kinds], axis=0)
            self._explained[number] = evidence[: self._known] >= self.threshold
        self._near = [self._compare(number) for number in range(self._known)]

    def _compare(self, original: int) -> Indices:
        """Look for copies of a submission; return those that are near."""
        is_there = original < self._there
        count = self._known if is_there else self._there
        rows = [kind.row(original, count) for kind in self._kinds]
        evidence = np.sum([row for row, _ in rows], axis=0)
        explained = self._explained[:, :count] & self._explained[:, [original]]
        evidence[explained.any(axis=0)] = -np.inf
        if is_there:
            evidence[original] = -np.inf
            self._same[:, original] = np.cumsum([same for _, same in rows])
            self._renamed[original] = rows[0][0][original] + (len(rows) - 1) * NOTHING_KEPT
            self._note(np.array([original]), int(evidence.argmax()), evidence.max(keepdims=True))
        self._note(np.arange(self._there), original, evidence[: self._there])
        return np.flatnonzero(evidence >= self.threshold)

    def _note(self, numbers: Indices, other: int, evidence: Floats) -> None:
        """Keep a submission as the nearest of some others, where it is nearer than what was."""
        nearer = evidence > self._most[numbers]
        self._most[numbers[nearer]] = evidence[nearer]
        self._nearest[numbers[nearer]] = other

    def same(self, number: int) -> ScoredPair:
        """Return the scored pair of two submissions with the same code, which share an index."""
        return ScoredPair(number, number, float(self._same[-1, number]))

    def unexplained(self) -> list[int]:
        """Return the indices of submissions of the batch that are near to no known answer."""
        explained = self._explained[:, : self._there].any(axis=0)
        return np.flatnonzero(~explained).tolist()

    def shown_if_renamed(self) -> list[int]:
        """Return the indices of submissions of which a copy without its names would be near."""
        return np.flatnonzero(self._renamed >= self.threshold).tolist()

    def unusual_enough(self, kinds: int = len(TRAIT_KINDS)) -> list[int]:
        """Return the indices of submissions so unusual that nobody writes the same by chance.

        That is said of the traits of the first ``kinds`` kinds; the others are not counted.
        """
        enough = np.flatnonzero(self._same[kinds - 1] >= self.threshold).tolist()
        return sorted({*enough} & {*self.unexplained()})

    def nearest(self) -> tuple[list[ScoredPair], Indices]:
        """Return pairs of near submissions, and the label of each submission's group.

        Each submission is paired with the one that has the most evidence with it, if that is at
        least ``threshold``. Submissions have the same label if pairs of at least that much connect
        them. Two that are near to the same known answer are no pair: that explains them.
        """
        found: dict[tuple[int, int], float] = {}
        for number in np.flatnonzero(self._most >= self.threshold).tolist():
            other = int(self._nearest[number])
            found[min(number, other), max(number, other)] = float(self._most[number])
        labels = np.arange(self._known)
        for number, near in enumerate(self._near):
            if not len(near):
                continue
            together = np.unique(labels[[number, *near]])
            labels[np.isin(labels, together)] = together[0]
        return [ScoredPair(*pair, evidence) for pair, evidence in found.items()], labels

    def by_kind(self, first: int, second: int) -> list[float]:
        """Return the evidence between two submissions, one number for each kind of trait."""
        ways = [
            [float(kind.row(original)[0][copy]) for kind in self._kinds]
            for original, copy in ((first, second), (second, first))
        ]
        return max(ways, key=sum)

    def rare(self, shared: Sequence[frozenset[str]]) -> set[tuple[str, str]]:
        """Return kind and text of the shared traits that fewer than half of the strangers have."""
        kinds = zip(TRAIT_KINDS, self._kinds, shared, strict=True)
        return {(name, trait) for name, kind, traits in kinds for trait in kind.rare(traits)}
