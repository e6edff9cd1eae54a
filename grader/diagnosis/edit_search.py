"""Search for the smallest set of edits of a solution that gives what a submission answered.

A unit is a part of what checks asked that can be asked again by itself, with the answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Sequence

from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.edits import EditMistake, edited
from grader.diagnosis.pairing import likely_pairs
from grader.diagnosis.replay import (
    TOO_LONG,
    Change,
    Replay,
    ReplayUnit,
    same_answers,
)
from grader.diagnosis.rounding import is_steady, unexplained
from grader.diagnosis.words import (
    BEGINNING_BY_PART,
    BEGINNING_EXCEPTIONS,
    BEGINNING_MODULE,
    BEGINNING_NOT_OUTPUT,
    BEGINNING_OUTPUT,
    BEGINNING_WHERE_WRONG,
)
from grader.sandbox.replies import StepAnswer

MAX_TRIED_SETS = 500  # the same number however busy the machine is
MAX_PAIRS = 250  # they are tried in some seconds
# Wrong units and right ones that every set is tried on; others are asked once a set is found.
MAX_WRONG_UNITS = 8
MAX_RIGHT_UNITS = 12
MAX_SIZE_SHARE = 1 / 16  # of a wrong unit, up to which right ones are asked before it
Mistakes = tuple[EditMistake, ...]


class EditSearch:
    """A search for the mistakes that reproduce everything that one submission answered.

    Args:
        source: Source of the solution.
        units: What the submission was asked, and what it answered, in parts that can be repeated.
        device: Device on which the submission had its tensors.
        lost: Names of the checks that the submission did not pass.
        limit: Seconds of processor time after which the search ends.
        change: What else is changed in the solution's module, whatever is edited.
    """

    def __init__(
        self,
        source: str,
        units: list[ReplayUnit],
        device: str = "cpu",
        lost: Collection[str] = (),
        limit: float = math.inf,
        change: Change | None = None,
    ) -> None:
        self.allow(limit)
        self._source, self._made, self._lost = source, (device, change), lost
        self._wrong: list[ReplayUnit] = []  # wrong beyond doubt
        self._unsteady: list[ReplayUnit] = []  # wrong, maybe by chance or rounding
        self._raising: list[ReplayUnit] = []  # where exceptions differ from the solution's
        self._right: list[ReplayUnit] = []
        self._kinds: set[str] = set()
        self._single: dict[Mistakes, Replay | None] = {}  # of single mistakes, kept for pairs
        self._solved_units: dict[int, tuple[ReplayUnit, ReplayUnit]] = {}  # by id of the first
        self._solution = right = Replay.of(source, *self._made)
        by_size = sorted(units, key=lambda unit: unit.size) if right else []
        self._later = self._sort_all([one for one in by_size if not one.passed], self._wrong)
        self._later_passed = self._sort_all([one for one in by_size if one.passed], self._right)

    def allow(self, seconds: float) -> None:
        """Let the search go on for so many seconds of processor time, from now on."""
        self._deadline = time.thread_time() + seconds

    def _sort_all(self, units: list[ReplayUnit], counted: list[ReplayUnit]) -> list[ReplayUnit]:
        """Sort units until enough of them are in ``counted``; return those that are left."""
        most = MAX_WRONG_UNITS if counted is self._wrong else MAX_RIGHT_UNITS
        for place, unit in enumerate(units):
            if len(counted) >= most or time.thread_time() > self._deadline:
                return units[place:]
            self._sort(unit)
        return []

    def _sort(self, unit: ReplayUnit) -> list[ReplayUnit] | None:
        """Add a unit to the wrong, raising, unsteady or right ones, judged by the solution.

        Return the list of these; None if the unit proves nothing, so that it was not added.
        """
        right = self._solution
        assert right is not None  # without it, there are no units to sort
        kinds = set(right.differences(unit))
        if kinds and (
            unit.passed or TOO_LONG in kinds or right.differs_only_where_not_finite(unit)
        ):
            return None
        self._kinds |= kinds
        place = self._right
        if "exception" in kinds:
            place = self._raising
        elif kinds:
            place = self._wrong if is_steady(right, self._solved(unit)) else self._unsteady
        place.append(unit)
        return place

    def run(self, known: list[EditMistake], in_pairs: bool = False) -> Explanation:
        """Return the known mistakes, or pairs of them, that give the submission's wrong answers.

        What it raises, or should raise, is told by itself: where it mostly answers, a mistake may
        leave exceptions unexplained.
        """
        known = sorted(known, key=lambda mistake: not self._are_likely((mistake,)))
        if len(self._raising) > len(self._wrong):
            self._wrong += self._raising
            self._raising = self._wrong
        raising = self._raising if self._raising is not self._wrong else []
        evidence = self._wrong or self._unsteady
        sets = self._pairs(known, evidence) if in_pairs else [(mistake,) for mistake in known]
        found, cut = self._fitting(sets, evidence)
        found = [one for one in found if len(one) == 1 or all(map(self._shows, one))]
        loose = [*self._unsteady, *raising]  # larger units among them, by which none was found
        whole = [one for one in found if self._reproduces(one, loose)]
        if not whole:  # one more mistake may explain the others
            more = ((*one, other) for one in found for other in known if other not in one)
            whole, _ = self._fitting(more, [*loose, *evidence])
        smallest, kinds = _with_sentences_of_their_own(whole or found), tuple(sorted(self._kinds))
        kinds_left = self._left_by(found[0], raising) if found and not whole else set()
        left = ("exceptions",) if "exception" in kinds_left else ()
        return Explanation(smallest, kinds, left, self._beginning(), is_cut_short=cut)

    def _fitting(
        self, sets: Iterable[Mistakes], evidence: list[ReplayUnit]
    ) -> tuple[list[Mistakes], bool]:
        """Return the sets that give all answers, and whether the search was cut short."""
        found: list[Mistakes] = []
        for tried, mistakes in enumerate(sets if evidence else ()):
            if found and self._are_likely(found[0]) and not self._are_likely(mistakes):
                continue  # they would have lost a check that the submission passed
            if tried == MAX_TRIED_SETS or time.thread_time() > self._deadline:
                return found, True
            replay = self._planted(mistakes)  # once: a pair's is not kept
            if replay is None or not self._fits(replay, evidence):
                continue
            if not (self._is_contradicted(replay, evidence) or self._breaks_more(replay)):
                found.append(mistakes)
        return found, False

    def _pairs(self, known: list[EditMistake], evidence: list[ReplayUnit]) -> Sequence[Mistakes]:
        """Return the pairs of mistakes that may have given the wrong answers.

        Of at least one of the two, the submission did not pass the check that it is known to lose;
        pairs of which it passed neither check come first.
        """
        # Two mistakes lose two checks, or more; and of NaN everywhere, some two are always a cause.
        if len(self._lost) == 1 or not any(map(_is_finite, evidence)):
            return []
        planted = {one: replay for one in known if (replay := self._planted((one,))) is not None}
        assert self._solution is not None  # without it, no unit counts as wrong
        pairs = likely_pairs(self._solution, planted, evidence, self._right)
        found = [pair for pair in pairs if any(self._are_likely((one,)) for one in pair)]
        return sorted(found, key=lambda pair: not self._are_likely(pair))[:MAX_PAIRS]

    def _shows(self, mistake: EditMistake) -> bool:
        """Return whether a mistake changes by itself what the submission did not answer rightly."""
        replay = self._planted((mistake,))
        return replay is not None and any(
            not same_answers(self._solved(unit), replay.answer_unit(unit))
            for unit in (*self._wrong, *self._unsteady)
        )

    def _are_likely(self, mistakes: Mistakes) -> bool:
        """Return whether the submission passed no check that these mistakes are known to lose."""
        return not self._lost or all(one.loses in self._lost for one in mistakes)

    def _fits(self, replay: Replay, evidence: list[ReplayUnit]) -> bool:
        """Return whether its mistakes give the wrong answers, and leave the right ones right."""
        small = MAX_SIZE_SHARE * evidence[0].size
        first = [unit for unit in self._right if unit.size < small]
        rest = [unit for unit in self._right if unit.size >= small]
        return (
            not any(self._breaks(replay, unit) for unit in first)
            and self._explains(replay, evidence)
            and not any(self._breaks(replay, unit) for unit in rest)
        )

    def _reproduces(self, mistakes: Mistakes, units: list[ReplayUnit]) -> bool:
        """Return whether these mistakes give the same answers as the submission."""
        replay = self._planted(mistakes)
        return replay is not None and self._explains(replay, units)

    def _left_by(self, mistakes: Mistakes, units: list[ReplayUnit]) -> set[str]:
        """Return the kinds of differences that these mistakes leave unexplained."""
        replay = self._planted(mistakes)
        assert replay is not None  # they were found to fit
        return {kind for unit in units for kind in unexplained(replay, unit, self._solved)}

    def _explains(self, replay: Replay, units: list[ReplayUnit]) -> bool:
        """Return whether a solution with mistakes gives the same answers as the submission."""
        return not any(kind for unit in units for kind in unexplained(replay, unit, self._solved))

    def _breaks(self, replay: Replay, unit: ReplayUnit) -> bool:
        """Return whether its mistakes make a right answer wrong, not by rounding."""
        is_explained = self._explains(replay, [unit])
        return not is_explained and is_steady(replay, replay.answer_unit(unit), seed_shift=0)

    def _is_contradicted(self, replay: Replay, evidence: list[ReplayUnit]) -> bool:
        """Return whether a larger unit contradicts its mistakes; it is then used as evidence."""
        for unit in list(self._later):
            if time.thread_time() > self._deadline:
                break
            if set(unexplained(replay, unit, self._solved)) - {TOO_LONG}:
                self._later.remove(unit)
                place = self._sort(unit)
                if place is evidence:
                    evidence.insert(0, evidence.pop())  # compared first: it told most so far
                told = place is evidence or place is self._right
                if told and self._breaks(replay, unit):
                    return True
        return False

    def _breaks_more(self, replay: Replay) -> bool:
        """Return whether its mistakes make a later right answer wrong, not just by rounding."""
        right = self._solution
        assert right is not None  # without it, no unit counts as wrong
        for unit in self._later_passed:
            if time.thread_time() > self._deadline:
                break
            if not self._breaks(replay, unit) or any(right.differences(unit)):
                continue
            if is_steady(right, self._solved(unit)):
                return True
        return False

    def _solved(self, unit: ReplayUnit) -> ReplayUnit:
        """Return a unit with the solution's answers."""
        assert self._solution is not None  # without it, no unit counts as wrong
        if id(unit) not in self._solved_units:
            self._solved_units[id(unit)] = (unit, self._solution.answer_unit(unit))
        return self._solved_units[id(unit)][1]

    def _planted(self, mistakes: Mistakes) -> Replay | None:
        """Return a replay of the solution with these mistakes; None if they cannot be combined."""
        if mistakes in self._single:
            return self._single[mistakes]
        source = edited(self._source, mistakes)
        replay = None if source is None else Replay.of(source, *self._made)
        if len(mistakes) == 1:
            self._single[mistakes] = replay
        return replay

    def _beginning(self) -> str:
        if self._kinds == {"gradients"}:
            return BEGINNING_BY_PART["learn"]
        if "parameters" in self._kinds:
            return BEGINNING_MODULE
        if "output" not in self._kinds:
            return BEGINNING_EXCEPTIONS if "exception" in self._kinds else BEGINNING_NOT_OUTPUT
        return BEGINNING_WHERE_WRONG if self._right else BEGINNING_OUTPUT


def _is_finite(unit: ReplayUnit) -> bool:
    """Return whether the submission answered a unit with neither NaN nor an infinity."""
    answers = [asked.answer for group in unit.groups for asked in group]
    tensors = [x for one in answers if isinstance(one, StepAnswer) for x in one.tensors]
    return all(x.is_meta or bool(x.isfinite().all()) for x in tensors)


def _with_sentences_of_their_own(sets: Iterable[Mistakes]) -> tuple[Mistakes, ...]:
    """Return the sets without those that say the same as an earlier one: another way to do it."""
    by_sentences: dict[frozenset[str], Mistakes] = {}
    for mistakes in sets:
        by_sentences.setdefault(frozenset(one.says for one in mistakes), mistakes)
    return tuple(by_sentences.values())
