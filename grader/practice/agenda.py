"""What to do now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from grader.kit import Exercise, Kit
from grader.practice.schedule import Standing


class Reason(StrEnum):
    """Why it is an exercise's turn."""

    UNDER_WAY = "under way"
    DUE = "due"
    NEW = "new"


@dataclass(frozen=True)
class Turn:
    """What to do now, and why."""

    exercise: Exercise
    reason: Reason


def due(standings: Mapping[str, Standing], now: datetime) -> list[Standing]:
    """What is due again, the most forgotten first."""
    found = [one for one in standings.values() if one.due is not None and one.due <= now]
    return sorted(found, key=lambda one: one.remembered)


def coming(standings: Mapping[str, Standing], now: datetime) -> list[tuple[datetime, Standing]]:
    """What will be due, the nearest first."""
    found = [(one.due, one) for one in standings.values() if one.due is not None and one.due > now]
    return sorted(found, key=lambda pair: pair[0])


def next_turn(kit: Kit, standings: Mapping[str, Standing], now: datetime) -> Turn | None:
    """What to do now: what is begun, then what is due, then what is new, in teaching order.

    Returns:
        None where all is solved and nothing is due yet.
    """
    exercises = {exercise.name: exercise for exercise in kit.exercises}
    known = {name: one for name, one in standings.items() if name in exercises}
    begun = [(one.under_way, name) for name, one in known.items() if one.under_way is not None]
    if begun:
        return Turn(exercises[max(begun)[1]], Reason.UNDER_WAY)
    if waiting := due(known, now):
        return Turn(exercises[waiting[0].exercise], Reason.DUE)
    for exercise in kit.exercises:
        if exercise.name not in known or known[exercise.name].solved is None:
            return Turn(exercise, Reason.NEW)
    return None
