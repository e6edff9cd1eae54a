"""Which two mistakes may make up what came, told by what each of them does alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from grader.diagnosis.edits import EditMistake
from grader.diagnosis.replay import Replay, Unit, forms, same_answers

PROBES = 4  # of what came out wrong, and of what came out right


class Alone(NamedTuple):
    """What a mistake does alone to one answer after another: to its form, and to its numbers.

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
) -> Iterator[tuple[EditMistake, EditMistake]]:
    """Two mistakes at a time, where they may have made what came.

    Args:
        right: The solution.
        planted: The solution with each mistake.
        wrong: What was asked where what came is wrong; some are looked at.
        fine: The same where it is right.
    """
    came = [*_some_of(wrong), *_some_of(fine)]
    due = [right.answered(unit) for unit in came]
    alone = {}
    for mistake, replay in planted.items():
        mine = [replay.answered(unit) for unit in came]
        alone[mistake] = Alone(tuple(not one for one in _agree(due, mine)), _agree(came, mine))
    is_fine = _agree(came, due)
    for one, other in itertools.combinations(alone, 2):
        if alone[one].may_go_with(alone[other], is_fine):
            yield one, other


def _agree(some: list[Unit], others: list[Unit]) -> tuple[bool, ...]:
    """Whether each two agree: in their forms, then in all."""
    by_form = [forms(one) == forms(other) for one, other in zip(some, others, strict=True)]
    return (*by_form, *(same_answers(*two) for two in zip(some, others, strict=True)))


def _some_of(units: list[Unit]) -> list[Unit]:
    return units[:: -(-len(units) // PROBES) or 1]
