"""The chance that a stranger, who copied nothing, has the traits of one submission.

It is counted among the others: the batch, earlier batches, known answers. The traits of a person
belong together: whoever writes one unusual line writes the next as well, and if they were taken as
independent, three such lines would be proof. So each trait is judged by another one of the same
person, the one that tells most of it: by how many of those who have that one have this one too
(Chow and Liu 1968). Of what only the two have who are compared, nobody can say whether it belongs
together; it is taken to, so ten such lines weigh little more than one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

KEPT_SHARES = (0.6, 0.95)  # of a kind's traits that a copy keeps, unless it keeps none
NOTHING_KEPT = -math.log(1 + len(KEPT_SHARES))  # evidence of a kind of which all is lost
PRIOR_STRANGERS = 6  # that count beside those who were counted, and are as is usual
MIN_CHANCE = 1 / 200  # of a trait; no batch shows that one is rarer
RARE_BELOW_SHARE = 0.5  # of strangers; a trait that is rarer is marked
COMPARED_AT_ONCE = 1000  # people, of whom each trait takes eight bytes
MAX_JUDGED = 600  # traits of one submission; of more, each counts alone
SMOOTHING = 0.5  # people who are added to each of the four counts of a pair of traits


class Usual(NamedTuple):
    """What is assumed of a trait before anybody is counted.

    Attributes:
        alone: The share of strangers who have it.
        given: The share among those who have the trait that it is judged by, in a large batch.
        followers: Where so many others are looked at, half of those who would not have it by that
            share have it all the same: of few, nobody knows what they would all write.
    """

    alone: float
    given: float
    followers: int

    def given_among(self, others: int) -> float:
        """Return the share among those who have the other trait, if so many are looked at."""
        unknown = self.followers / max(others + self.followers, 1)
        return self.given + (1 - self.given) * unknown


class TraitModel:
    """The traits of one kind in a batch, and the evidence that each gives."""

    def __init__(
        self, trait_sets: Sequence[frozenset[str]], stub_traits: frozenset[str], usual: Usual
    ) -> None:
        """Count the traits.

        Args:
            trait_sets: The traits of each submission and each other answer that is known.
                Submissions with exactly the same traits count once, or thirty copies of a rare
                trait would make it common.
            stub_traits: The traits of the stub, which are no evidence.
            usual: What is assumed of a trait.
        """
        self._usual = usual
        forms: dict[frozenset[str], int] = {}
        self._form = np.array(
            [forms.setdefault(traits - stub_traits, len(forms)) for traits in trait_sets], np.int64
        )
        self._index: dict[str, int] = {}
        self._held = [self._indices(form) for form in forms]
        flat = np.concatenate([*self._held, np.empty(0, np.int64)])
        people = np.repeat(np.arange(len(forms)), [len(held) for held in self._held])
        self._holders = people[np.argsort(flat, kind="stable")]
        self._counts = np.bincount(flat, minlength=len(self._index))
        self._starts = np.concatenate([[0], np.cumsum(self._counts)])

    def _indices(self, form: frozenset[str]) -> Indices:
        index = self._index
        return np.array(sorted(index.setdefault(t, len(index)) for t in sorted(form)), np.int64)

    def row(self, number: int, count: int | None = None) -> tuple[Floats, float]:
        """Return the evidence that each submission is a copy of this one, in natural logarithms.

        With it comes the evidence that two submissions with all these traits would give, whatever
        little is known of what others write.

        Args:
            number: The index of this submission.
            count: How many submissions to look at, from the first; all where None.
        """
        form = int(self._form[number])
        has = self._who_has(self._held[form])
        chances = _Chances.of(has, self._usual)
        asked = self._form[:count]
        told = has[: asked.max(initial=-1) + 1]  # forms are numbered as they first occur
        ways, same = [np.zeros(len(told))], [0.0]
        for kept in KEPT_SHARES:
            way = chances.compare(told, kept)
            way[form : form + 1] = _kept(kept, chances.in_copy).sum()
            ways.append(way)
            same.append(_kept(kept, chances.in_same).sum())
        evidence = np.logaddexp.reduce(ways) + NOTHING_KEPT
        return evidence[asked], float(np.logaddexp.reduce(same)) + NOTHING_KEPT

    def _who_has(self, traits: Indices) -> Flags:
        """Return who has which of some traits, a row for each form."""
        has = np.zeros((len(self._held), len(traits)), np.bool_)
        for place, trait in enumerate(traits):
            has[self._holders[self._starts[trait] : self._starts[trait + 1]], place] = True
        return has

    def rare(self, traits: frozenset[str]) -> frozenset[str]:
        """Return those of some traits that fewer than half of the strangers have."""
        others = len(self._held) - 2
        places = [(trait, self._index[trait]) for trait in traits if trait in self._index]
        return frozenset(
            trait
            for trait, place in places
            if _share(self._counts[place] - 2, others, self._usual.alone) < RARE_BELOW_SHARE
        )


@dataclass(frozen=True)
class _Chances:
    """The chances that a stranger has the traits of one submission.

    Each array has one number for each trait: the chance if the stranger has the trait that it is
    judged by, and if not; each time counted without those two people who are compared, for whom it
    matters whether the other one has the trait.

    Attributes:
        judged_by: The place of the trait that each is judged by; its own where there is none.
        in_copy: The chance if the stranger has the other trait, in one who has all of them.
        in_same: The same, without followers.
    """

    judged_by: Indices
    present_given: Floats
    absent_given: Floats
    present_without: Floats
    absent_without: Floats
    in_copy: Floats
    in_same: Floats

    @classmethod
    def of(cls, has: Flags, usual: Usual) -> _Chances:
        """Count the chances.

        Args:
            has: Who has which trait of the submission, a row for each person.
            usual: What is assumed of a trait.
        """
        people, count = has.shape
        places = np.arange(count)
        alone = together = has.sum(axis=0)
        judged_by = places
        if count <= MAX_JUDGED:
            numbers = has.astype(np.float64)
            both = numbers.T @ numbers
            judged_by = _most_telling(both, people)
            together = both[places, judged_by]
        first = judged_by == places
        with_other = np.where(first, people, alone[judged_by])
        given = np.where(first, usual.alone, usual.given_among(people - 2))
        rest, without_other = alone - together, people - with_other
        return cls(
            judged_by,
            _share(together - 2, with_other - 2, given),
            _share(together - 1, with_other - 2, given),
            _share(rest - 1, without_other - 1, usual.alone),
            _share(rest, without_other - 1, usual.alone),
            _share(together - 1, with_other - 1, given),
            _share(together - 1, with_other - 1, np.where(first, usual.alone, usual.given)),
        )

    def compare(self, has: Flags, kept: float) -> Floats:
        """Return the evidence that each person copied, and kept this share of the traits."""
        starts = range(0, max(len(has), 1), COMPARED_AT_ONCE)
        parts = (has[start : start + COMPARED_AT_ONCE].astype(np.float64) for start in starts)
        return np.concatenate([self._compare(part, kept) for part in parts])

    def _compare(self, has: Floats, kept: float) -> Floats:
        first = self.judged_by == np.arange(len(self.judged_by))
        other = np.where(first, 1.0, has[:, self.judged_by])
        yes_given, yes = _kept(kept, self.present_given), _kept(kept, self.present_without)
        no_given, no = _lost(kept, self.absent_given), _lost(kept, self.absent_without)
        evidence: Floats = (
            no.sum()
            + has @ (yes - no)
            + other @ (no_given - no)
            + (has * other) @ (yes_given - yes - no_given + no)
        )
        return evidence


def _kept(share: float, chance: Floats) -> Floats:
    """Return the evidence of a trait that is shared: how much likelier a copy has it."""
    evidence: Floats = np.log(share / np.minimum(chance, share))  # what all have says nothing
    return evidence


def _lost(share: float, chance: Floats) -> Floats:
    """Return the evidence, below zero, of a trait that is not shared."""
    evidence: Floats = np.log((1 - share) / (1 - np.minimum(chance, share)))
    return evidence


def _share(holders: Floats, people: Floats | int, usual: Floats | float) -> Floats:
    """Return the chance that one more person has a trait that so many of so many people have."""
    share: Floats = (np.maximum(holders, 0) + PRIOR_STRANGERS * usual) / (
        np.maximum(people, 0) + PRIOR_STRANGERS
    )
    chance: Floats = np.maximum(share, MIN_CHANCE)
    return chance


def _most_telling(both: Floats, people: int) -> Indices:
    """Return for each trait the one that it is judged by, so that no two are judged in a circle.

    These are the edges of a tree that holds as much mutual information as can be; the trait that
    most people have is its root, which is judged by none and stands for itself.

    Args:
        both: How many people have each two of the traits.
        people: How many people there are.
    """
    told = _mutual_information(both, people)
    count = len(both)
    judged_by, best = np.zeros(count, np.int64), np.full(count, -np.inf)
    outside = np.ones(count, bool)
    place = int(both.diagonal().argmax()) if count else 0
    judged_by[place : place + 1] = place
    for _ in range(count):
        outside[place] = False
        nearer = outside & (told[place] > best)
        best[nearer], judged_by[nearer] = told[place][nearer], place
        place = int(np.where(outside, best, -np.inf).argmax())
    return judged_by


def _mutual_information(both: Floats, people: int) -> Floats:
    """Return how much each trait tells of each other one, in natural logarithms."""
    alone = both.diagonal()
    one, other = alone[:, None], alone[None, :]
    counts = np.stack([both, one - both, other - both, people - one - other + both]) + SMOOTHING
    shares = counts / counts.sum(axis=0)
    has_one, has_other = shares[0] + shares[1], shares[0] + shares[2]
    chance = np.stack(
        [
            has_one * has_other,
            has_one * (1 - has_other),
            (1 - has_one) * has_other,
            (1 - has_one) * (1 - has_other),
        ]
    )
    told: Floats = (shares * np.log(shares / chance)).sum(axis=0)
    return told
