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
    quiet_and_seeded,
    replay_units_of,
)
from grader.submission import read_submission

SEARCH_LIMIT_S = 8.0  # of processor time; ends all searches too, as some sets take longer to try
NO_EXPLANATION = Explanation((), (), ())


def explain_by_edits(
    solution: Path,
    mistakes: Path,
    checks: Sequence[CheckExchanges],
    device: str = "cpu",
    lost: Collection[str] = (),
) -> Explanation:
    """Find the known mistakes of an exercise that reproduce a submission's answers in its checks.

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
    known = [mistake for mistake in read_edits(mistakes) if mistake.says]
    if not known or not solution.is_file():
        return NO_EXPLANATION
    source, units = read_submission(solution).source, replay_units_of(checks)
    found, deadline = NO_EXPLANATION, time.thread_time() + SEARCH_LIMIT_S
    with quiet_and_seeded():
        right = Replay.of(source, device)
        biases = with_its_biases(right, units) if right is not None else None
        changes, ways = [biases, None] if biases else [None], right_ways(source, mistakes)
        searches: dict[tuple[Change | None, str], EditSearch] = {}
        # Single mistakes beside each habit come first: to find pairs takes most of the time.
        for in_pairs, change, way in itertools.product((False, True), changes, ways):
            left = deadline - time.thread_time()
            if found.sets or left < 0:  # then the last search says that it was cut short
                break
            if (change, way) not in searches:
                searches[change, way] = EditSearch(way, units, device, lost, left, change)
            found = searches[change, way].run(known, in_pairs)
    return found
