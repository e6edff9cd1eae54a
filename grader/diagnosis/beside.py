"""Find the edit of a solution that was made beside a mistake of the pipeline.

The pipeline is observed in a few plain calls, in which an edit that is about other masks, or about
exceptions, does not show. What fails beside the pipeline's mistake is asked of a solution that has
both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from grader.diagnosis.catalogue import KnownMistake
from grader.diagnosis.edit_search import EditSearch
from grader.diagnosis.edits import EditMistake, Habit, edited, read_edits, read_habits
from grader.diagnosis.replay import (
    Change,
    CheckExchanges,
    Replay,
    ReplayUnit,
    quiet_and_seeded,
    replay_units_of,
)
from grader.submission import read_submission

MAX_PROBE_UNITS = 3  # that an edit has to answer as the submission did, to count as its mistake
SEARCH_LIMIT_S = 2.0  # of processor time: enough for single edits
Planted = list[KnownMistake | Habit]


class Beside(NamedTuple):
    """What was found beside the pipeline's mistake.

    Attributes:
        planted: The pipeline's mistake as edits, with a habit perhaps; empty where none is known.
        sets: The smallest sets of edits beside it; none where it accounts for all.
        is_instead: Whether these sets do all that the pipeline's mistake does, too.
    """

    planted: Planted | tuple[()] = ()
    sets: tuple[tuple[KnownMistake, ...], ...] = ()
    is_instead: bool = False


def edits_beside(
    solution: Path,
    mistakes: Path,
    following: Sequence[CheckExchanges],
    others: Sequence[CheckExchanges],
    device: str,
    lost: Collection[str],
    pipeline: Change,
) -> Beside:
    """Return the pipeline's mistake as edits, and the smallest sets of edits beside it.

    Args:
        solution: File of the exercise's solution, which is run in this process.
        mistakes: File of the exercise's known mistakes: one without a sentence is the pipeline's.
        following: What the checks that fail by the pipeline's mistake asked, with the answers.
        others: What all other checks asked, with the answers.
        device: Device on which the submission had its tensors.
        lost: Names of the checks that the submission lost.
        pipeline: Makes the pipeline's mistake in a solution's module, in the place of edits.
    """
    source, known = read_submission(solution).source, read_edits(mistakes)
    units = replay_units_of(others)
    with quiet_and_seeded():
        shown = _wrong(source, replay_units_of(following), device)
        probes = shown[:MAX_PROBE_UNITS]
        likely: list[tuple[int, str, Planted]] = []  # with how many units each leaves wrong
        for habits in ([], *([habit] for habit in read_habits(mistakes))):
            for one in (one for one in known if probes and not one.says):
                planted = edited(source, [*habits, one])
                if planted is not None and not _wrong(planted, probes, device):
                    left = len(_wrong(planted, units, device))
                    likely.append((left, planted, [*habits, one]))
        # What an edit of the constructor changes, other parameters, shows in the probes as well.
        left, planted, made = min(likely, key=lambda each: each[0], default=(1, source, []))
        if not left:
            return Beside(made)
        change = None if likely else pipeline
        search = EditSearch(planted, units, device, lost, SEARCH_LIMIT_S, change)
        found = search.run([one for one in known if one.says])
        if not found.sets or found.unexplained or found.is_cut_short:
            return Beside()
        enough = [
            edits
            for edits in (found.sets if shown else ())
            if not _wrong(_made(source, edits), shown, device)
        ]
    return Beside((), tuple(enough), is_instead=True) if enough else Beside(made, found.sets)


def _made(source: str, edits: Sequence[KnownMistake]) -> str | None:
    return edited(source, [one for one in edits if isinstance(one, EditMistake)])


def _wrong(source: str | None, units: Sequence[ReplayUnit], device: str) -> list[ReplayUnit]:
    """Return the units of lost checks that a source answers in another way, smallest first."""
    replay = None if source is None else Replay.of(source, device)
    lost = sorted((unit for unit in units if not unit.passed), key=lambda unit: unit.size)
    return [unit for unit in lost if replay is None or any(replay.differences(unit))]
