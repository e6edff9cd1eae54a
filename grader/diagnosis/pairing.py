"""Which two mistakes may make up what came, told by what each of them does alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from grader.diagnosis.edits import EditMistake
from grader.diagnosis.replay import Replay, Unit

PROBES = 4  # of what came out wrong, and of what came out right


class Alone(NamedTuple):
    """What a mistake does alone.

    Attributes:
        shows: Where what came is wrong: whether the mistake changes the right answers.
        agrees: There as well: whether its answers are those that came.
        spoils: Where what came is right: whether its answers are others.
    """

    shows: tuple[bool, ...]
    agrees: tuple[bool, ...]
    spoils: tuple[bool, ...]

    def may_go_with(self, other: Alone) -> bool:
        """Whether both may have made what came: where one of them shows alone, it has to agree."""
        if self.spoils != other.spoils:  # where both do, they may make up for each other
            return False
        both = map(all, zip(self.shows, other.shows, strict=True))
        one_agrees = map(any, zip(self.agrees, other.agrees, strict=True))
        return all(map(any, zip(both, one_agrees, strict=True)))


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
    wrong, fine = _some_of(wrong), _some_of(fine)
    due = [right.answered(unit) for unit in wrong]
    alone = {mistake: _seen(replay, due, wrong, fine) for mistake, replay in planted.items()}
    for one, other in itertools.combinations(alone, 2):
        if alone[one].may_go_with(alone[other]):
            yield one, other


def _seen(replay: Replay, due: list[Unit], wrong: list[Unit], fine: list[Unit]) -> Alone:
    shows, differs, spoils = (
        tuple(any(replay.differences(unit)) for unit in units) for units in (due, wrong, fine)
    )
    return Alone(shows, tuple(not one for one in differs), spoils)


def _some_of(units: list[Unit]) -> list[Unit]:
    return units[:: -(-len(units) // PROBES) or 1]
