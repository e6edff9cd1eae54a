"""Describe where a submission fails: the shortest description that fits its failures alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.suite.situations.factors import ABSENT
from grader.suite.situations.outcomes import SituationLike

MAX_NAMED_LEVELS = 2  # of one factor in a condition, so that it is easy to read
MAX_COINCIDENCE_PROBABILITY = 1e-3  # that failures that are not about a level all have it
SIZE_FACTORS = ("T", "S", "B", "width", "E", "H")  # described by numbers, not levels
SIZE_LETTERS = tuple("TSBCEH")  # plainest first; the letters of the contract's own follow


@dataclass(frozen=True)
class Condition:
    """A condition that holds for some situations and not for others.

    Attributes:
        factor: The factor, or the size letter, that the condition is about.
        says: Its wording, such as ``T of 128 or more``.
        holds: Returns whether the condition holds for a situation.
    """

    factor: str
    says: str
    holds: Callable[[SituationLike], bool]


def describe(
    failed: Sequence[SituationLike], passed: Sequence[SituationLike]
) -> tuple[Condition, ...] | None:
    """Return up to two conditions that all failed situations meet and no passed one meets in full.

    Returns:
        The first such conditions, tried from the plainest on, with a dtype before others that
        happen to coincide; empty if everything failed, None if no two conditions suffice.
    """
    if not passed:
        return ()
    common = [one for one in _conditions(failed) if all(map(one.holds, failed))]
    common.sort(key=lambda one: one.factor != "dtype" or "float32" in one.says)
    spared = {id(one): {n for n, s in enumerate(passed) if not one.holds(s)} for one in common}
    for one in common:
        if len(spared[id(one)]) == len(passed):
            return (one,)
    for one, other in itertools.combinations(common, 2):
        if len(spared[id(one)] | spared[id(other)]) == len(passed):
            return one, other
    return None


def shared_levels(
    failed: Sequence[SituationLike], passed: Sequence[SituationLike], factors: Collection[object]
) -> tuple[Condition, ...]:
    """Return the levels, and bounds of T, that all failures share, where it is hardly by chance.

    They tell what a mistake is about where rounding or chance hides it in some situations, so that
    no condition describes the failures exactly.

    Args:
        failed: The situations that failed.
        passed: The situations that passed.
        factors: Names of the factors to look at.
    """
    levels = [
        _level_condition(name, [level]) for name, level in failed[0].row.items() if name in factors
    ]
    lengths = list(_bounds("T", failed)) if "T" in failed[0].sizes else []
    common = [one for one in (*levels, *lengths) if all(map(one.holds, failed))]
    count = len(failed)
    shares = [(count + sum(map(one.holds, passed))) / (count + len(passed)) for one in common]
    return tuple(
        one
        for one, share in zip(common, shares, strict=True)
        if share**count < MAX_COINCIDENCE_PROBABILITY
    )


def _conditions(failed: Sequence[SituationLike]) -> list[Condition]:
    """Return candidate conditions for the situations that failed, the plainest first."""
    found = _size_conditions(failed)
    for name in failed[0].row:
        levels = sorted({one.row.get(name, ABSENT) for one in failed})
        is_number = name in SIZE_FACTORS or name in failed[0].sizes
        if len(levels) <= MAX_NAMED_LEVELS and ABSENT not in levels and not is_number:
            found.append(_level_condition(name, levels))
    return found


def _level_condition(name: str, levels: list[str]) -> Condition:
    """Return the condition that a factor has one of these levels."""
    return Condition(name, f"{name} {' or '.join(levels)}", lambda s: s.row.get(name) in levels)


def _size_conditions(failed: Sequence[SituationLike]) -> list[Condition]:
    """Return bounds on each size, as tight as the failed situations allow."""
    own = [letter for letter in failed[0].row if letter in failed[0].sizes]
    there = [one for one in dict.fromkeys((*SIZE_LETTERS, *own)) if one in failed[0].sizes]
    return [one for letter in there for one in _bounds(letter, failed)]


def _bounds(letter: str, failed: Sequence[SituationLike]) -> Iterator[Condition]:
    def size(situation: SituationLike) -> int:
        return int(situation.sizes.get(letter, 0))

    low, high = min(map(size, failed)), max(map(size, failed))
    if low == high:
        yield Condition(letter, f"{letter} = {low}", lambda s: size(s) == low)
    yield Condition(letter, f"{letter} of {low} or more", lambda s: size(s) >= low)
    yield Condition(letter, f"{letter} of {high} or less", lambda s: size(s) <= high)
