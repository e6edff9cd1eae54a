"""The gradebook of a batch: its rows and scores, from what is in its store."""

from __future__ import annotations

import itertools
import operator
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

from grader.hiring.batch_records import GradingResult
from grader.hiring.candidates import Candidate
from grader.hiring.remarks import Remarks, in_words
from grader.hiring.scoring import NOT_GRADED, WITHDRAWN, lowest_score, with_note_and_mark
from grader.hiring.store import BatchStore
from grader.kit import Kit
from grader.records import GradebookRow, Score, Status


class Gradebook:
    """The scores of a batch, candidate by candidate.

    Candidates who are in the store, but not among those given, are shown as withdrawn.

    Args:
        store: The batch's store.
        candidates: All candidates, also those who have no result yet.
        weights: The weight of each exercise, in the order in which they were sent.
        kit: The kit that the exercises are of.
        changed: What to do about each file that is no longer the one that was graded, by the
            candidate's key and the exercise.

    Attributes:
        store, weights, kit: As given.
        names: The name of each candidate, by key.
        keys: The key of each candidate, by name.
        in_canvas: The number by which Canvas knows each candidate whose files it sent, by key.
    """

    def __init__(
        self,
        store: BatchStore,
        candidates: Sequence[Candidate],
        weights: Mapping[str, float],
        kit: Kit,
        changed: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self.store, self.weights, self.kit = store, weights, kit
        self.names = {candidate.key: candidate.name for candidate in candidates}
        self.keys = {name: key for key, name in self.names.items()}
        owners = {one.key: one.owner for one in candidates if one.owner}
        self.in_canvas = {k: one.number for k, one in owners.items() if one.system == "Canvas"}
        self._remarks = Remarks(store.path.parent)
        self._faults: dict[tuple[str, str], str] = {}
        self._changed = changed or {}
        taken = set(self.names.values())
        known = {key: name for key, name in store.names().items() if key not in self.names}
        self._gone = _names_of_those_gone(known, taken)
        # Of whom nothing could be graded until it was sent again as another kind of file.
        nothing = store.nothing_to_grade()
        graded = {key for key, exercise, _ in store.done() if (key, exercise) not in nothing}
        self._replaced = {key for key, name in known.items() if name in taken} - graded
        self._stubs = {name: kit.find(name).stub_digests for name in weights}

    @property
    def exercises(self) -> list[str]:
        """The names of the exercises, in the order in which they were sent."""
        return list(self.weights)

    def explain_missing(self, faults: Mapping[tuple[str, str], str]) -> None:
        """Note why something could not be graded, by the candidate's key and the exercise."""
        self._faults.update(faults)

    @property
    def title(self) -> str:
        """The title of the take-home, or the names of its exercises."""
        settings = self.store.known_settings()
        record = tomllib.loads(settings.takehome) if settings else {}
        return str(record.get("title") or ", ".join(self.weights))

    def by_candidate(self) -> Iterator[tuple[str, list[GradingResult]]]:
        """Yield name and results of each candidate who has any; one at a time is in memory."""
        for key, results in itertools.groupby(self.store.results(), lambda one: one.candidate):
            if key in self.names:
                yield self.names[key], list(results)

    def rows(self) -> list[GradebookRow]:
        """Return the gradebook's rows in the order of the candidates, withdrawn ones at the end."""
        graded = {name: self.marked(results) for name, results in self.by_candidate()}
        there = [self.row(name, graded.get(name, {})) for name in self.names.values()]
        return [*there, *self.withdrawn()]

    def row_of(self, candidate: Candidate) -> GradebookRow:
        """Return the gradebook's row of one candidate."""
        results = list(self.store.results(candidate.key))
        return self.row(candidate.name, self.marked(results) if results else {})

    def withdrawn(self) -> list[GradebookRow]:
        """Return the rows of those who are in the store and no longer among the candidates."""
        return [
            GradebookRow(name, None, [WITHDRAWN] * len(self.weights))
            for key, name in self._gone.items()
            if key not in self._replaced
        ]

    def row(self, name: str, scores: Mapping[str, Score]) -> GradebookRow:
        """Return the row of a candidate, by name, who has these scores, by exercise."""
        key = self.keys[name]
        missing = {
            exercise: replace(NOT_GRADED, note=self._faults.get((key, exercise), ""))
            for exercise in self.weights
        }
        found = [scores.get(exercise, missing[exercise]) for exercise in self.weights]
        said = tuple(map(in_words, self._remarks.of(key)))
        row = partial(
            GradebookRow, scores=found, decision=self._remarks.decision(key), remarks=said
        )
        if any(one.status is Status.NOT_GRADED for one in found):
            return row(name, None)
        shares = [score.earned / max(score.possible, 1) for score in found]
        total = sum(map(operator.mul, self.weights.values(), shares))
        return row(name, total / sum(self.weights.values()))

    def scores(self, results: Sequence[GradingResult]) -> dict[str, Score]:
        """Return the scores of one candidate, with the points that were set by hand.

        These are no more than can be earned now: the remark may be of an earlier version.
        """
        points = self._remarks.points(results[0].candidate)
        return {
            name: replace(one, earned=min(points[name].points or 0, one.possible))
            if name in points
            else one
            for name, one in self._by_the_checks(results).items()
        }

    def _by_the_checks(self, results: Sequence[GradingResult]) -> dict[str, Score]:
        """Return the scores of one candidate as they were graded."""
        by_exercise: dict[str, list[GradingResult]] = {}
        for result in results:
            by_exercise.setdefault(result.exercise, []).append(result)
        return {name: lowest_score(found, self._stubs[name]) for name, found in by_exercise.items()}

    def marked(self, results: Sequence[GradingResult]) -> dict[str, Score]:
        """Return scores as the team sees them: marked where set by hand, or the file changed."""
        scores, key = self.scores(results), results[0].candidate
        points, graded = self._remarks.points(key), self._by_the_checks(results)
        for name, one in scores.items():
            if name in points:
                before = f"{graded[name].earned} by the checks"
                one = with_note_and_mark(one, f"{in_words(points[name])}; {before}", "set by hand")
            if to_do := self._changed.get((key, name)):
                one = with_note_and_mark(one, to_do, "changed since")
            scores[name] = one
        return scores

    def numbers(self) -> dict[str, int]:
        """Return the number that is shown in place of each candidate's name.

        It is drawn at random once, then kept; all who join later get higher numbers than before.
        """
        called = {**self._gone, **self.names}
        kept = [key for key in self.store.fact("numbers").split("/") if key in called]
        new = sorted(called.keys() - set(kept))
        random.SystemRandom().shuffle(new)
        self.store.keep("numbers", "/".join([*kept, *new]))
        return {called[key]: number for number, key in enumerate([*kept, *new], 1)}


def _names_of_those_gone(known: Mapping[str, str], taken: Set[str]) -> dict[str, str]:
    """Return a name of its own for each candidate who is gone, by key.

    That is the name they had, or where somebody else has it now, their key, or one with a number.
    """
    found: dict[str, str] = {}
    used = set(taken)
    for key, name in known.items():
        numbered = (f"{key} ({number})" for number in itertools.count(2))
        found[key] = next(one for one in itertools.chain([name, key], numbered) if one not in used)
        used.add(found[key])
    return found
