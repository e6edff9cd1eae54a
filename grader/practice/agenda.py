"""Which exercise comes next, and which ones are due for review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from grader.kit import Exercise, Kit
from grader.languages import say
from grader.languages.columns import pad_to_width
from grader.practice.schedule import Standing


class Reason(StrEnum):
    """Why an exercise comes next."""

    UNDER_WAY = "under way"
    DUE = "due"
    NEW = "new"


@dataclass(frozen=True)
class NextExercise:
    """The exercise that comes next, and the reason."""

    exercise: Exercise
    reason: Reason


def due(standings: Mapping[str, Standing], now: datetime) -> list[Standing]:
    """Return the standings of the exercises due for review, the most forgotten first."""
    found = [one for one in standings.values() if one.due is not None and one.due <= now]
    return sorted(found, key=lambda one: one.remembered)


def due_later(standings: Mapping[str, Standing], now: datetime) -> list[tuple[datetime, Standing]]:
    """Return the exercises due later, each as its due time and standing, the nearest first."""
    found = [(one.due, one) for one in standings.values() if one.due is not None and one.due > now]
    return sorted(found, key=lambda pair: pair[0])


def choose_next_exercise(
    kit: Kit, standings: Mapping[str, Standing], now: datetime
) -> NextExercise | None:
    """Choose the next exercise: one under way, else one due, else a new one in teaching order.

    Returns:
        The exercise and the reason; None if all are solved and none is due yet.
    """
    exercises = {exercise.name: exercise for exercise in kit.exercises}
    known = {name: one for name, one in standings.items() if name in exercises}
    begun = [(one.under_way, name) for name, one in known.items() if one.under_way is not None]
    if begun:
        return NextExercise(exercises[max(begun)[1]], Reason.UNDER_WAY)
    if waiting := due(known, now):
        return NextExercise(exercises[waiting[0].exercise], Reason.DUE)
    for exercise in kit.exercises:
        if exercise.name not in known or known[exercise.name].solved is None:
            return NextExercise(exercise, Reason.NEW)
    return None


def review_lines(
    waiting: Sequence[Standing], later: Sequence[tuple[datetime, Standing]], now: datetime
) -> Iterator[str]:
    """Yield a line for each exercise due now or later, under headings; nothing if none is."""
    if not waiting and not later:
        return
    yield f"due now: {len(waiting)}"
    for one in waiting:
        assert one.due is not None
        yield (
            f"  {one.exercise:<11} {pad_to_width(say(ago((now - one.due).days)), 12)}  "
            f"{say(f'remembered with {one.remembered:.0%}; `grade reset {one.exercise}`')}"
        )
    yield f"later: {len(later)}"
    for when, one in later:
        yield f"  {one.exercise:<11} {say(from_now(when, now))}"


def ago(days: int) -> str:
    """Return a number of days in the past in words: ``today``, ``1 day ago``, ``3 days ago``."""
    return {0: "today", 1: "1 day ago"}.get(days, f"{days} days ago")


def from_now(when: datetime, now: datetime) -> str:
    """Return the time from ``now`` to ``when`` in words: below 36 hours in hours, else in days."""
    hours = (when - now).total_seconds() / 3600
    return f"in {hours:.0f} hours" if hours < 36 else f"in {hours / 24:.0f} days"
