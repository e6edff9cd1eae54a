"""Which two mistakes may make up what came, told by what each of them does alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

from grader.diagnosis.edits import EditMistake
from grader.diagnosis.replay import Replay, Unit, forms, same_answers

PROBES = 4  # of what came out wrong, and of what came out right
LARGE = 1 << 15  # bytes, which take too long to be asked of each mistake
AGAINST = 4  # of them may speak against two mistakes
LIKELY = 250  # pairs, which are tried in some seconds


class Alone(NamedTuple):
    """What a mistake does alone to an answer: to its form, and to its numbers.

    Attributes:
        shows: Whether it changes what is right.
        agrees: Whether what it gives is what came.
    """

    shows: tuple[bool, ...]
    agrees: tuple[bool, ...]

    def may_go_with(self, other: Alone, fine: tuple[bool, ...]) -> bool:
        """Whether both may have made what came: where one of them shows alone, it has to agree.

        Args:
            other: What the other one does.
            fine: Whether what came is right.
        """
        for place, is_fine in enumerate(fine):
            shown = [one.agrees[place] for one in (self, other) if one.shows[place]]
            if len(shown) < 2 and not (shown[0] if shown else is_fine):
                return False
        return True


def likely_pairs(
    right: Replay, planted: Mapping[EditMistake, Replay], wrong: list[Unit], fine: list[Unit]
) -> list[tuple[EditMistake, EditMistake]]:
    """Two mistakes at a time, those first that may well have made what came.

    Where what came speaks against two of them, one may still undo what the other does.

    Args:
        right: The solution.
        planted: The solution with each mistake.
        wrong: What was asked where what came is wrong; some are looked at.
        fine: The same where it is right.
    """
    against = dict.fromkeys(itertools.combinations(planted, 2), 0)
    for came in sorted([*_some_of(wrong), *_some_of(fine)], key=lambda unit: unit.size):
        if len(against) <= len(planted):
            break  # to try them takes no longer than to look
        due = right.answered(came)
        is_fine = _agree(came, due)
        alone = {}
        for mistake in dict.fromkeys(itertools.chain(*against)):
            mine = planted[mistake].answered(came)
            alone[mistake] = Alone(tuple(not one for one in _agree(due, mine)), _agree(came, mine))
        for one, other in list(against):
            against[one, other] += not alone[one].may_go_with(alone[other], is_fine)
            if against[one, other] > AGAINST:
                del against[one, other]
    return sorted(against, key=against.__getitem__)[:LIKELY]


def _agree(one: Unit, other: Unit) -> tuple[bool, bool]:
    """Whether two answers agree: in their forms, and in all."""
    return forms(one) == forms(other), same_answers(one, other)


def _some_of(units: list[Unit]) -> list[Unit]:
    small = [unit for unit in units if unit.size < LARGE]
    return small[:: -(-len(small) // PROBES) or 1]
