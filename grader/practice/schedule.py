"""Schedule reviews of solved exercises with FSRS, from tries, hints and time.

Source: the free spaced repetition scheduler, https://github.com/open-spaced-repetition/py-fsrs
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from fsrs import Card, Rating, Scheduler

from grader.kit import Kit
from grader.practice.history import Event, History
from grader.records import Grading

GIVEN_UP_AFTER = timedelta(hours=12)  # after so long without a grading, a sitting is a failed try
MAX_EASY_TIME = timedelta(minutes=6)  # solved from the stub within this, it was known by heart
MAX_GOOD_TIME = timedelta(minutes=30)  # solved after more than this, it was hard to remember
MAX_GOOD_TRIES = 8  # with more gradings, the solution was found by trial and error


@dataclass
class Sitting:
    """One attempt at an exercise, from its stub until it is solved or abandoned.

    Attributes:
        began: Time of the first grading, or of the reset before it.
        ended: Time of the last grading.
        tries: Number of gradings in which something was written.
        hints: How many hints were shown.
        revealed: Whether our solution was read.
    """

    began: datetime
    ended: datetime
    tries: int = 0
    hints: int = 0
    revealed: bool = False
    solved: bool = False

    @property
    def rating(self) -> Rating:
        """How well the exercise was remembered, as FSRS rates it."""
        taken = self.ended - self.began
        if not self.solved or self.revealed:
            return Rating.Again
        if self.hints or taken > MAX_GOOD_TIME or self.tries > MAX_GOOD_TRIES:
            return Rating.Hard
        return Rating.Easy if taken <= MAX_EASY_TIME else Rating.Good


@dataclass(frozen=True)
class Standing:
    """How a learner stands with one exercise.

    Attributes:
        solved: When the exercise was last solved; None if never.
        due: When the exercise is due for review; None as long as it was never solved.
        remembered: Probability that it would be solved from memory now, 0 to 1.
        under_way: When it was last worked on, if it is begun and neither solved nor abandoned.
    """

    exercise: str
    solved: datetime | None = None
    due: datetime | None = None
    remembered: float = 0.0
    under_way: datetime | None = None


def standings(kit: Kit, history: History, now: datetime) -> dict[str, Standing]:
    """Return, by name, how a learner stands at a time, in UTC, with each exercise ever tried.

    Grading an unchanged stub is no try.
    """
    gradings, events = history.gradings(), history.events()
    found = {}
    for exercise in kit.exercises:
        tries = [
            grading
            for grading in gradings
            if grading.exercise == exercise.name and grading.digest not in exercise.stub_digests
        ]
        if tries:
            done = [(kind, at) for name, kind, at in events if name == exercise.name]
            found[exercise.name] = _standing(exercise.name, sittings(tries, done), now)
    return found


def sittings(
    gradings: Sequence[Grading], events: Sequence[tuple[Event, datetime]]
) -> list[Sitting]:
    """Return the sittings of one exercise, the oldest first.

    Gradings between a solve and the next reset are no new sitting: nothing had to be
    remembered.
    """
    found: list[Sitting] = []
    reset: datetime | None = None  # time of a reset since which nothing was graded
    read = False  # whether our solution was read since that reset
    for at, what in _in_order(gradings, events):
        last = found[-1] if found else None
        if what is Event.RESET:
            reset, read = at, False
        elif what is Event.REVEALED and reset is not None:
            read = True
        elif what is Event.REVEALED and last is not None:
            last.revealed |= not last.solved
        elif isinstance(what, Grading):
            left = last is not None and at - last.ended > GIVEN_UP_AFTER and not last.solved
            if last is None or left or reset is not None:
                began = reset if reset is not None and at - reset <= GIVEN_UP_AFTER else at
                found.append(Sitting(began, at, revealed=read))
                reset, read = None, False
            elif last.solved:
                continue
            _add(found[-1], what, at)
    return [sitting for sitting in found if sitting.tries]


def _in_order(
    gradings: Sequence[Grading], events: Sequence[tuple[Event, datetime]]
) -> Iterator[tuple[datetime, Grading | Event]]:
    items: list[tuple[datetime, Grading | Event]] = [(at, kind) for kind, at in events]
    items += [(datetime.fromisoformat(grading.started), grading) for grading in gradings]
    yield from sorted(items, key=lambda item: item[0])


def _add(sitting: Sitting, grading: Grading, at: datetime) -> None:
    sitting.ended = at
    sitting.solved = grading.solved
    sitting.hints = grading.hints
    sitting.tries += grading.written


@cache
def _scheduler() -> Scheduler:
    """Return FSRS without steps of minutes: an exercise comes back after a day at the earliest."""
    return Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)


def _standing(name: str, past: Sequence[Sitting], now: datetime) -> Standing:
    card: Card | None = None
    solved = under_way = None
    for sitting in past:
        if sitting.solved:
            solved = sitting.ended
        elif now - sitting.ended <= GIVEN_UP_AFTER and sitting is past[-1]:
            under_way = sitting.ended
            continue
        if sitting.solved or card is not None:  # what was never solved cannot be forgotten
            card = card or Card(card_id=1, due=sitting.ended)
            card, _ = _scheduler().review_card(card, sitting.rating, sitting.ended)
    remembered = _scheduler().get_card_retrievability(card, now) if card else 0.0
    return Standing(name, solved, card.due if card else None, remembered, under_way)
