"""Finds the smallest set of edits of a solution that reproduces what a submission answered."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.diagnosis.pairing import likely_pairs
from grader.diagnosis.replay import TOO_LONG, Check, Replay, Unit, aside, units_of
from grader.diagnosis.words import MODULE, ONLY, WHERE_WRONG, WHOLE
from grader.submission import read_submission

TRIED = 500  # sets, after which a search gives up: the same ones whatever the machine is at
ENOUGH = 20  # things that came out wrong
RIGHT = 40  # things that came out right, which a set has to leave so
SECONDS = 5.0  # of processor time, and after so long as well: a set may cost more than usual
NOTHING = Explanation((), (), ())


def explain_by_edits(
    solution: Path, mistakes: Path, checks: Sequence[Check], device: str = "cpu"
) -> Explanation:
    """Which known mistakes of an exercise reproduce what a submission answered in its checks.

    Args:
        solution: Of the exercise; it is run in this process.
        mistakes: The exercise's ``wrong.toml``.
        checks: What each check asked of the submission.
        device: Where it had its tensors.

    Raises:
        GradeError: The file is damaged.
    """
    known = [mistake for mistake in read_edits(mistakes) if mistake.says]
    if not known or not solution.is_file():
        return NOTHING
    source = read_submission(solution).source
    with aside():
        return EditSearch(source, units_of(checks), device).run(known)


class EditSearch:
    """One search, over everything that a submission answered.

    Args:
        source: Of the solution.
        units: What was asked, and what came.
        device: Where the submission had its tensors.
    """

    def __init__(self, source: str, units: list[Unit], device: str = "cpu") -> None:
        self._until = time.thread_time() + SECONDS
        self._source, self._device = source, device
        self._wrong: list[Unit] = []  # what shows it beyond doubt
        self._unsteady: list[Unit] = []  # where chance or rounding has a hand in it
        self._right: list[Unit] = []
        self._kinds: set[str] = set()
        self._solution = right = Replay.of(source, device)
        for unit in sorted(units, key=lambda one: one.size) if right else ():
            assert right is not None
            if len(self._wrong) == ENOUGH or time.thread_time() > self._until:
                break
            self._sort(right, unit)

    def _sort(self, right: Replay, unit: Unit) -> None:
        kinds = set(right.differences(unit))
        if not kinds:
            self._right.append(unit)
        elif not unit.fine and TOO_LONG not in kinds:
            self._kinds |= kinds
            (self._wrong if right.is_steady(unit) else self._unsteady).append(unit)

    def run(self, known: list[EditMistake]) -> Explanation:
        """The smallest sets that reproduce what is wrong, all of the same size."""
        found: list[tuple[EditMistake, ...]] = []
        evidence = self._wrong or self._unsteady
        cut = False
        for tried, mistakes in enumerate(self._sets(known, evidence) if evidence else ()):
            if found and len(mistakes) > len(found[0]):
                break
            if cut := tried == TRIED or time.thread_time() > self._until:
                break
            if self._reproduces(mistakes, [*evidence, *self._some_right]):
                found.append(mistakes)
        whole = [one for one in found if self._reproduces(one, self._unsteady)]
        sets, kinds = tuple(whole or found), tuple(sorted(self._kinds))
        return Explanation(sets, kinds, (), self._beginning(), cut=cut)

    def _sets(
        self, known: list[EditMistake], evidence: list[Unit]
    ) -> Iterator[tuple[EditMistake, ...]]:
        """The smaller ones first; of two, those that may have made what came."""
        yield from ((mistake,) for mistake in known)
        planted = {one: replay for one in known if (replay := self._planted((one,))) is not None}
        assert self._solution is not None  # else nothing came out wrong
        yield from likely_pairs(self._solution, planted, evidence, self._right)

    @property
    def _some_right(self) -> list[Unit]:
        return self._right[:: 1 + len(self._right) // RIGHT]

    def _reproduces(self, mistakes: tuple[EditMistake, ...], units: list[Unit]) -> bool:
        """Whether these mistakes give the very answers that came."""
        replay = self._planted(mistakes)
        return replay is not None and not any(
            kind for unit in units for kind in replay.differences(unit)
        )

    def _planted(self, mistakes: tuple[EditMistake, ...]) -> Replay | None:
        """The solution with these mistakes; None where they cannot be made in it together."""
        source = edited(self._source, mistakes)
        return None if source is None else Replay.of(source, self._device)

    def _beginning(self) -> str:
        if self._kinds == {"gradients"}:
            return ONLY["learn"]
        if "parameters" in self._kinds:
            return MODULE
        return WHERE_WRONG if self._right else WHOLE
