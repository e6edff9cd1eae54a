"""A learner's progress as a page: tries, scores over time, what is due, the mistakes made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime

from grader.diagnosis.catalogue import catalogue
from grader.languages import say
from grader.outputs.batch_counts import MistakeCount
from grader.outputs.jinja import render
from grader.records import Grading

MAX_MISTAKES_LISTED = 100  # the most frequent ones
MAX_LISTED_SCORES = 40  # in the text version of a plot


def progress_page(
    kit_title: str,
    exercises: Sequence[tuple[str, str]],
    gradings: Sequence[Grading],
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

    grading: Grading

    @property
    def score(self) -> str:
        """The points earned and the points possible, as text."""
        return f"{self.grading.earned} / {self.grading.possible}"

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
        return max(self.tries, key=lambda one: one.grading.share).score

    @property
    def read_out(self) -> str:
        """The plot of scores as a sentence."""
        last = self.tries[-MAX_LISTED_SCORES:]
        which = f"the last {MAX_LISTED_SCORES}" if len(last) < len(self.tries) else "all"
        scores = ", ".join(f"{one.grading.share:.0%}" for one in last)
        return say(f"scores of {which} tries, the oldest first: {scores}")


def mistakes_met(gradings: Iterable[Grading]) -> list[MistakeCount]:
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
