"""Finds the smallest set of edits of a solution that reproduces what a submission answered."""

from __future__ import annotations

import itertools
import random
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.diagnosis.replay import Check, Replay, Unit, size_of, units_of
from grader.diagnosis.words import MODULE, ONLY, WHERE_WRONG, WHOLE
from grader.submission import read_submission

MOST = 2  # mistakes in one set
TRIED = 500  # sets, after which a search gives up: the same ones whatever the machine is at
ENOUGH = 20  # things that came out wrong
RIGHT = 40  # things that came out right, which a set has to leave so
SECONDS = 5.0  # and after so long, should a set cost more than it usually does
NOTHING = Explanation((), (), ())


def explain_by_edits(solution: Path, mistakes: Path, checks: Sequence[Check]) -> Explanation:
    """Which known mistakes of an exercise reproduce what a submission answered in its checks.

    Args:
        solution: Of the exercise; it is run in this process.
        mistakes: The exercise's ``wrong.toml``.
        checks: What each check asked of the submission.

    Raises:
        GradeError: The file is damaged.
    """
    known = [mistake for mistake in read_edits(mistakes) if mistake.says]
    if not known or not solution.is_file():
        return NOTHING
    source = read_submission(solution).source
    with _aside():
        return EditSearch(source, units_of(checks)).run(known)


class EditSearch:
    """One search, over everything that a submission answered.

    Args:
        source: Of the solution.
        units: What was asked, and what came.
    """

    def __init__(self, source: str, units: list[Unit]) -> None:
        self._until = time.monotonic() + SECONDS
        self._source = source
        self._wrong: list[Unit] = []
        self._right: list[Unit] = []
        self._kinds: set[str] = set()
        right = Replay.of(source)
        for unit in sorted(units, key=size_of) if right else ():
            assert right is not None
            if len(self._wrong) == ENOUGH:
                break
            kinds = set(right.differences(unit))
            (self._wrong if kinds else self._right).append(unit)
            self._kinds |= kinds

    def run(self, known: list[EditMistake]) -> Explanation:
        """The smallest sets that reproduce every answer, all of the same size."""
        tries = itertools.islice(self._sets(known), TRIED)
        found: list[tuple[EditMistake, ...]] = []
        for names in tries if self._wrong else ():
            if time.monotonic() > self._until or (found and len(names) > len(found[0])):
                break
            if self._reproduces(names):
                found.append(names)
        return Explanation(tuple(found), tuple(sorted(self._kinds)), (), self._beginning())

    def _sets(self, known: list[EditMistake]) -> Iterator[tuple[EditMistake, ...]]:
        return itertools.chain.from_iterable(
            itertools.combinations(known, count) for count in range(1, MOST + 1)
        )

    def _reproduces(self, mistakes: tuple[EditMistake, ...]) -> bool:
        """Whether these mistakes do what the submission does, right answers included."""
        source = edited(self._source, mistakes)
        replay = None if source is None else Replay.of(source)
        if replay is None:
            return False
        some = self._right[:: 1 + len(self._right) // RIGHT]
        return not any(kind for unit in (*self._wrong, *some) for kind in replay.differences(unit))

    def _beginning(self) -> str:
        if self._kinds == {"gradients"}:
            return ONLY["learn"]
        if "parameters" in self._kinds:
            return MODULE
        return WHERE_WRONG if self._right else WHOLE


@contextmanager
def _aside() -> Iterator[None]:
    """What an edited solution warns of is no news, and draws from nobody else's numbers."""
    state = random.getstate()
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(state)
