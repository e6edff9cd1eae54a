"""Choose pairs of mistakes that may explain a submission, by what each mistake does alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

from grader.diagnosis.edits import EditMistake
from grader.diagnosis.replay import Replay, ReplayUnit, same_answers, types_and_shapes

MAX_PROBE_UNITS = 4  # with wrong answers, and as many with right ones
MAX_PROBE_SIZE = 1 << 15  # of a unit; to ask a larger one of each mistake takes too long
MAX_CONTRADICTIONS = 4  # units that may contradict a pair; one more rules it out


class SoloEffect(NamedTuple):
    """The effect of one mistake alone on the answers to a unit, some requests of a check.

    Each attribute has two values: for the answers' forms (types and shapes), and for the answers
    as a whole.

    Attributes:
        shows: Whether the mistake changes the solution's answers.
        agrees: Whether the mistake gives the submission's answers.
    """

    shows: tuple[bool, ...]
    agrees: tuple[bool, ...]

    def may_go_with(self, other: SoloEffect, fine: tuple[bool, ...]) -> bool:
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

    def is_alone_in(self, other: SoloEffect) -> bool:
        """Return whether one of both mistakes alone changes the answers, to the submission's."""
        whole = [one.agrees[-1] for one in (self, other) if one.shows[-1]]
        return whole == [True]


def likely_pairs(
    right: Replay,
    planted: Mapping[EditMistake, Replay],
    wrong: list[ReplayUnit],
    fine: list[ReplayUnit],
) -> list[tuple[EditMistake, EditMistake]]:
    """Return pairs of mistakes that may explain the submission, the least contradicted first.

    Of these, those come first of which one alone gives the submission's answers most often. A pair
    that at most ``MAX_CONTRADICTIONS`` units contradict is kept, as one mistake may undo the other.

    Args:
        right: Replay of the solution.
        planted: Replay of the solution with each mistake.
        wrong: Units (requests of checks) that the submission answered wrongly; some are looked at.
        fine: Units that the submission answered rightly; some are looked at.
    """
    against = dict.fromkeys(itertools.combinations(planted, 2), 0)
    alone_in = dict.fromkeys(against, 0)
    for unit in sorted([*_some_of(wrong), *_some_of(fine)], key=lambda unit: unit.size):
        if len(against) <= len(planted):
            break  # to try these pairs takes no longer than to look at one more unit
        expected = right.answer_unit(unit)
        is_fine = _agree(unit, expected)
        alone = {}
        for mistake in dict.fromkeys(itertools.chain(*against)):
            mine = planted[mistake].answer_unit(unit)
            alone[mistake] = SoloEffect(
                tuple(not one for one in _agree(expected, mine)), _agree(unit, mine)
            )
        for one, other in list(against):
            against[one, other] += not alone[one].may_go_with(alone[other], is_fine)
            alone_in[one, other] += alone[one].is_alone_in(alone[other])
            if against[one, other] > MAX_CONTRADICTIONS:
                del against[one, other]
    return sorted(against, key=lambda pair: (against[pair], -alone_in[pair]))


def _agree(one: ReplayUnit, other: ReplayUnit) -> tuple[bool, bool]:
    """Return whether the answers of two units agree: in their forms, and as a whole."""
    return types_and_shapes(one) == types_and_shapes(other), same_answers(one, other)


def _some_of(units: list[ReplayUnit]) -> list[ReplayUnit]:
    small = [unit for unit in units if unit.size < MAX_PROBE_SIZE]
    return small[:: -(-len(small) // MAX_PROBE_UNITS) or 1]
