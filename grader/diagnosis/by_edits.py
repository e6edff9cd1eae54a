"""Explain a submission by known mistakes that are edits of the solution, each beside its habits."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from grader.diagnosis.biases import with_its_biases
from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.edit_search import EditSearch
from grader.diagnosis.edits import read_edits, right_ways
from grader.diagnosis.replay import (
    Change,
    CheckExchanges,
    Replay,
    ReplayUnit,
    quiet_and_seeded,
    replay_units_of,
)
from grader.submission import read_submission

SEARCH_LIMIT_S = 8.0  # of processor time; ends all searches too, as some sets take longer to try
NO_EXPLANATION = Explanation((), (), ())


class EditExplainer:
    """Finds the known mistakes of an exercise that reproduce a submission's answers in its checks.

    Args:
        solution: File of the exercise's solution, which is run in this process.
        mistakes: File of the exercise's known mistakes.
        checks: What each check asked of the submission, with the answers.
        device: Device on which the submission had its tensors.
        lost: Names of the checks that the submission did not pass; mistakes that lose one of these
            are tried first.

    Raises:
        GradeError: The file of known mistakes is damaged.
    """

    def __init__(
        self,
        solution: Path,
        mistakes: Path,
        checks: Sequence[CheckExchanges],
        device: str = "cpu",
        lost: Collection[str] = (),
    ) -> None:
        self._known = [mistake for mistake in read_edits(mistakes) if mistake.says]
        self._device, self._lost = device, lost
        self._left_s = SEARCH_LIMIT_S
        self._units: list[ReplayUnit] = []
        # What is changed, in which source: single mistakes are tried beside each habit.
        self._beside: list[tuple[Change | None, str]] = []
        self._searches: dict[tuple[Change | None, str], EditSearch] = {}
        if self._known and solution.is_file():
            source, self._units = read_submission(solution).source, replay_units_of(checks)
            with quiet_and_seeded():
                right = Replay.of(source, device)
                biases = with_its_biases(right, self._units) if right is not None else None
            changes = [biases, None] if biases else [None]
            self._beside = list(itertools.product(changes, right_ways(source, mistakes)))

    def run(self, in_pairs: bool) -> Explanation:
        """Return the mistakes found, single ones or pairs: to find pairs takes most of the time."""
        found, deadline = NO_EXPLANATION, time.thread_time() + self._left_s
        for change, way in self._beside:
            left = deadline - time.thread_time()
            if found.sets or left < 0:  # then the last search says that it was cut short
                break
            with quiet_and_seeded():
                search = self._searches.get((change, way))
                if search is None:
                    search = EditSearch(way, self._units, self._device, self._lost, left, change)
                    self._searches[change, way] = search
                search.allow(deadline - time.thread_time())  # other searches came between
                found = search.run(self._known, in_pairs)
        self._left_s = deadline - time.thread_time()
        return found
