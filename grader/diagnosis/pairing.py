"""Choose pairs of mistakes that may explain a submission, by what each mistake does alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

from grader.diagnosis.edits import EditMistake
from grader.diagnosis.replay import Replay, Unit, forms, same_answers

PROBES = 4  # units with wrong answers, and as many with right ones, that are looked at, at most
LARGE = 1 << 15  # size of a unit, from which it takes too long to ask it of each mistake
AGAINST = 4  # units that may contradict a pair; one more rules it out
LIKELY = 250  # pairs, at most; they are tried in some seconds


class Alone(NamedTuple):
    """The effect of one mistake alone on the answers to a unit, some requests of a check.

    Each attribute has two values: for the answers' forms (types and shapes), and for the answers
    as a whole.

    Attributes:
        shows: Whether the mistake changes the solution's answers.
        agrees: Whether the mistake gives the submission's answers.
    """

    shows: tuple[bool, ...]
    agrees: tuple[bool, ...]

    def may_go_with(self, other: Alone, fine: tuple[bool, ...]) -> bool:
        """Return whether both mistakes together may explain the submission's answers.

        Where one of them alone changes the solution's answers, it has to give the submission's;
        where none does, the submission's have to be the solution's.

        Args:
            other: Effect of the other mistake.
            fine: Whether the submission's answers are the solution's.
        """
        for place, is_fine in enumerate(fine):
            shown = [one.agrees[place] for one in (self, other) if one.shows[place]]
            if len(shown) < 2 and not (shown[0] if shown else is_fine):
                return False
        return True


def likely_pairs(
    right: Replay, planted: Mapping[EditMistake, Replay], wrong: list[Unit], fine: list[Unit]
) -> list[tuple[EditMistake, EditMistake]]:
    """Return pairs of mistakes, with the most likely explanations of the submission first.

    A pair that at most ``AGAINST`` units contradict is kept, as one mistake may undo the other.

    Args:
        right: Replay of the solution.
        planted: Replay of the solution with each mistake.
        wrong: Units (requests of checks) that the submission answered wrongly; some are looked at.
        fine: Units that the submission answered rightly; some are looked at.
    """
    against = dict.fromkeys(itertools.combinations(planted, 2), 0)
    for came in sorted([*_some_of(wrong), *_some_of(fine)], key=lambda unit: unit.size):
        if len(against) <= len(planted):
            break  # to try these pairs takes no longer than to look at one more unit
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
    """Return whether the answers of two units agree: in their forms, and as a whole."""
    return forms(one) == forms(other), same_answers(one, other)


def _some_of(units: list[Unit]) -> list[Unit]:
    small = [unit for unit in units if unit.size < LARGE]
    return small[:: -(-len(small) // PROBES) or 1]
