"""A learner's progress as a page: tries, scores over time, what is due, the mistakes made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from grader.diagnosis.catalogue import catalogue
from grader.languages import say
from grader.outputs.batch_counts import MistakeCount
from grader.outputs.jinja import render

MAX_MISTAKES_LISTED = 100  # the most frequent ones
MAX_LISTED_SCORES = 40  # in the text version of a plot


class PastGrading(Protocol):
    """A past grading, such as a record of the learner's history."""

    @property
    def exercise(self) -> str:
        """The exercise's name."""

    @property
    def started(self) -> str:
        """When the grading began, in ISO 8601, UTC."""

    @property
    def earned(self) -> int:
        """Points earned."""

    @property
    def possible(self) -> int:
        """Points that could be earned."""

    @property
    def solved(self) -> bool:
        """Whether all points that could be earned were earned."""

    @property
    def hints(self) -> int:
        """How many hints had been shown before the grading."""

    @property
    def mistakes(self) -> Sequence[str]:
        """The mistakes that reproduce what the submission computed."""


def progress_page(
    kit_title: str,
    exercises: Sequence[tuple[str, str]],
    gradings: Sequence[PastGrading],
    solved: Set[str],
    due: Mapping[str, datetime],
) -> str:
    """Return a learner's progress as one page, which loads nothing and runs no script.

    Args:
        kit_title: The kit's title.
        exercises: Name and title of each exercise of the kit, in teaching order.
        gradings: The learner's gradings, the oldest first; those of an exercise that the kit no
            longer has are shown too.
        solved: The exercises that were solved at some time.
        due: By exercise, when it is to be solved again, with a time zone.
    """
    known = dict(exercises)
    tries: dict[str, list[ShownTry]] = {}
    for one in gradings:
        tries.setdefault(one.exercise, []).append(ShownTry(one))
    names = dict.fromkeys([*known, *tries, *sorted({*solved, *due})])
    now = datetime.now(UTC)
    standings = [
        ShownStanding(
            name,
            say(known.get(name, "no longer in this kit")),
            tuple(tries.get(name, ())),
            name in solved,
            due.get(name),
            now,
        )
        for name in names
    ]
    return render(
        "progress.html",
        kit_title=kit_title,
        count=len(known),
        solved=sum(name in solved for name in known),
        gradings=len(gradings),
        standings=standings,
        mistakes=mistakes_met(gradings),
        today=f"{now:%Y-%m-%d}",
    )


@dataclass(frozen=True)
class ShownTry:
    """One grading as the templates need it."""

    grading: PastGrading

    @property
    def score(self) -> str:
        """The points earned and the points possible, as text."""
        return f"{self.grading.earned} / {self.grading.possible}"

    @property
    def share(self) -> float:
        """The share of the possible points that was earned, from 0 to 1."""
        return min(max(self.grading.earned / max(self.grading.possible, 1), 0.0), 1.0)

    @property
    def day(self) -> str:
        """When the grading began, to the day."""
        return self.grading.started[:10]

    @property
    def minute(self) -> str:
        """When the grading began, to the minute."""
        return self.grading.started[:16].replace("T", " ")


@dataclass(frozen=True)
class ShownStanding:
    """How a learner stands with one exercise.

    Attributes:
        tries: The gradings, the oldest first.
        due: When the exercise is to be solved again; None where that is not set.
    """

    name: str
    title: str
    tries: tuple[ShownTry, ...]
    solved: bool
    due: datetime | None
    now: datetime

    @property
    def is_due(self) -> bool:
        """Whether the exercise is due to be solved again."""
        return self.due is not None and self.due <= self.now

    @property
    def begun(self) -> bool:
        """Whether the exercise was ever tried or solved, or has a due date."""
        return bool(self.tries or self.solved or self.due)

    @property
    def state(self) -> str:
        """The state of the exercise, in a few words."""
        if self.is_due:
            return say("due again")
        if self.solved:
            return say("solved")
        return say("not solved yet") if self.tries else say("not tried yet")

    @property
    def best(self) -> str:
        """The best score."""
        return max(self.tries, key=lambda one: one.share).score

    @property
    def read_out(self) -> str:
        """The plot of scores as a sentence."""
        last = self.tries[-MAX_LISTED_SCORES:]
        which = f"the last {MAX_LISTED_SCORES}" if len(last) < len(self.tries) else "all"
        scores = ", ".join(f"{one.share:.0%}" for one in last)
        return say(f"scores of {which} tries, the oldest first: {scores}")


def mistakes_met(gradings: Iterable[PastGrading]) -> list[MistakeCount]:
    """Return the mistakes that the learner made, the most frequent first."""
    times: Counter[str] = Counter()
    where: dict[str, dict[str, None]] = {}
    for one in gradings:
        for name in dict.fromkeys(one.mistakes):
            times[name] += 1
            where.setdefault(name, {})[one.exercise] = None
    return [
        MistakeCount(
            name, catalogue()[name].says if name in catalogue() else "", count, tuple(where[name])
        )
        for name, count in times.most_common(MAX_MISTAKES_LISTED)
    ]
