"""Find the smallest set of mistakes that reproduces what a submission computed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from grader.attention.layout import WeightLayout
from grader.attention.pipeline import Choices, Observation, Pipeline
from grader.attention.steps import SETTLED_STEPS
from grader.diagnosis.catalogue import Explanation, Mistake, mistakes_for
from grader.diagnosis.same import same, same_where_finite
from grader.diagnosis.words import BY_CHANCE

MAX_MISTAKES = 3  # in one set, unless the caller says which mistakes to try
MAX_TRIED_SETS = 10_000  # the same number however busy the machine is
SEARCH_LIMIT_S = 4.0  # of processor time; ends a search too, as some sets take longer to try
RELATIVE_TOLERANCE = 1e-4  # submissions compute in float32; mistakes differ by 1e-3 and more
MistakeSet = frozenset[str]  # names of mistakes
NO_MISTAKES: MistakeSet = frozenset()


class Search:
    """A search for the mistakes that explain everything observed of one submission.

    Args:
        layout: The exercise's layout, which tells which mistakes are possible.
        observations: The observations, plainest first; those of one ``call_kind`` are
            explained together.
        partial_views: Each ``call_kind`` whose observations show only part of what later ones show.
        among: Names of the only mistakes to try; None for all that are possible.
        max_tried: Number of sets after which the search gives up; None for ``MAX_TRIED_SETS``.
    """

    def __init__(
        self,
        layout: WeightLayout,
        observations: Sequence[Observation],
        partial_views: Sequence[str] = (),
        among: Sequence[str] | None = None,
        max_tried: int | None = None,
    ) -> None:
        self._partial_views = partial_views
        possible = {mistake.name: mistake for mistake in mistakes_for(layout.features)}
        self._mistakes = possible if among is None else {name: possible[name] for name in among}
        self._steps = {n: SETTLED_STEPS[m.step, m.choice] for n, m in self._mistakes.items()}
        self._among = among
        call_kinds = dict.fromkeys(seen.call_kind for seen in observations)
        by_chance = {seen.training for seen in observations if seen.by_chance}
        self._of_chance = BY_CHANCE[min(by_chance)] if by_chance else ""
        self._stages = {
            call_kind: [
                _ObservedCall(seen, self._mistakes, bool(by_chance))
                for seen in observations
                if seen.call_kind == call_kind
            ]
            for call_kind in call_kinds
        }
        self._max_tried = MAX_TRIED_SETS if max_tried is None else max_tried
        self._sets_left = self._reserved_sets = 0
        self._is_cut_short = False  # whether a limit left out pairs of mistakes, or single ones
        self._deadline = 0.0

    def run(self, most: int = MAX_MISTAKES) -> Explanation:
        """Return the smallest sets of mistakes that reproduce the observations.

        One kind of observation after another is explained, plainest first: each may add mistakes
        that do not show in the kinds before it. What was tried is known if it is run again.

        Args:
            most: The most mistakes in one set, where the caller has not said which to try.
        """
        self._max_mistakes = most if self._among is None else len(self._among)
        self._sets_left, self._is_cut_short = self._max_tried, False
        self._reserved_sets = self._max_tried * 2 // 5  # sets of mistakes, for a second `_climb`
        self._deadline = time.thread_time() + SEARCH_LIMIT_S
        whole = self._climb(list(self._stages))
        if whole.unexplained:
            # A mistake that shows in an early stage only beside another one was not tried there,
            # and a smaller set that explains that stage may have led away from the truth.
            self._reserved_sets = 0
            late = [kind for kind in self._stages if kind not in self._partial_views]
            again = self._climb(late)
            if len(again.explained) > len([kind for kind in whole.explained if kind in late]):
                whole = again
        note = "" if any(whole.sets) else self._of_chance
        return replace(whole, is_cut_short=self._is_cut_short, note=note)

    # Explains these kinds of observations one after another, by larger and larger sets of mistakes.
    def _climb(self, call_kinds: list[str]) -> Explanation:
        found: list[MistakeSet] = [NO_MISTAKES]
        explained: list[str] = []
        unexplained: list[str] = []
        right_anyway: list[str] = []
        settled: list[_ObservedCall] = []
        for call_kind in call_kinds:
            stages = self._stages[call_kind]
            extended = self._extend(found, stages, settled)
            if extended:
                found, explained, settled = extended, [*explained, call_kind], [*settled, *stages]
            else:
                unexplained.append(call_kind)
                if all(stage.matches(NO_MISTAKES) for stage in stages):
                    right_anyway.append(call_kind)
                if not settled:
                    break
        if all(kind in self._partial_views for kind in explained):
            # Partial views alone say nothing of the whole.
            return Explanation((), (), tuple(unexplained))
        sets = tuple(tuple(m for n, m in self._mistakes.items() if n in names) for names in found)
        return Explanation(
            sets, tuple(explained), tuple(unexplained), right_anyway=tuple(right_anyway)
        )

    def _extend(
        self, found: list[MistakeSet], stages: list[_ObservedCall], settled: list[_ObservedCall]
    ) -> list[MistakeSet]:
        """Return the smallest supersets of the sets found that reproduce ``stages`` too, if any.

        The sets found reproduce all of ``settled``.
        """
        not_finite = any(stage.differs_only_where_not_finite for stage in stages)
        most = 0 if not_finite else self._max_mistakes
        for more in range(most + 1):
            # Of many sets, most are known (cached) not to explain settled stages: ask these first.
            order = (*stages, *settled) if more < 2 else (*settled, *stages)
            matching = [
                names
                for names in self._supersets(found, more, stages)
                if all(stage.matches(names) for stage in order)
            ]
            if matching:
                return list(dict.fromkeys(matching))
        return []

    def _supersets(
        self, found: list[MistakeSet], more: int, stages: list[_ObservedCall]
    ) -> Iterator[MistakeSet]:
        """Yield supersets of sets in ``found``: with ``more`` mistakes that show in these stages.

        Ends early where a limit of the search is reached.
        """
        for start in found:
            if len(start) + more > self._max_mistakes:
                continue
            if not more:
                yield start
                continue
            taken = self._settled(start)
            showing = [
                name
                for name in self._mistakes
                if taken.isdisjoint(self._steps[name])
                and any(stage.shows(name) for stage in stages)
            ]
            # Where the output is explained, what is left is hardly about anything but learning.
            showing.sort(key=lambda name: self._mistakes[name].part != "learn")
            for names in itertools.combinations(showing, more):
                if self._sets_left <= self._reserved_sets or time.thread_time() > self._deadline:
                    self._is_cut_short |= len(start) + more < MAX_MISTAKES
                    return
                if len(self._settled(names)) == sum(len(self._steps[name]) for name in names):
                    self._sets_left -= 1
                    yield start.union(names)

    def _settled(self, names: Iterable[str]) -> MistakeSet:
        """Return the steps in which these mistakes leave nothing else to be done wrong."""
        return NO_MISTAKES.union(*(self._steps[name] for name in names))


class _ObservedCall:
    """One observation, and which sets of mistakes reproduce it."""

    def __init__(self, seen: Observation, mistakes: dict[str, Mistake], by_chance: bool) -> None:
        # A hidden score may be -inf or the least number of float32, and weights 0 where all are
        # hidden: all are right, and they differ only for a query that may attend to nothing.
        hidden_scores = [float("-inf"), torch.finfo(torch.float32).min, None]
        scores = hidden_scores if seen.attention_mask is not None else hidden_scores[:1]
        # Where chance shows, what is dropped may be drawn by torch's dropout or by hand.
        is_drawn = seen.layout.dropout and (seen.training or by_chance)
        drawn = ["", "above", "below"] if is_drawn else [""]
        self._pipelines = [Pipeline.shared(seen, *way) for way in itertools.product(scores, drawn)]
        self._seen = seen
        self._mistakes = mistakes
        self._matched: dict[MistakeSet, bool] = {}
        self._showing: dict[str, bool] = {}
        self._right: Tensor | None = None

    def shows(self, name: str) -> bool:
        """Return whether a mistake, made alone, changes anything in this observation."""
        if name not in self._showing:
            self._showing[name] = self._changes(name)
        return self._showing[name]

    def _changes(self, name: str) -> bool:
        if self._mistakes[name].part == "learn":
            return self._seen.gradients is not None
        pipeline = self._pipelines[0]
        if self._right is None:
            self._right = pipeline.output({})
        changed = pipeline.output(self._choices([name]))
        return changed is None or self._right is None or not same(changed, self._right, 0.0)

    def matches(self, names: MistakeSet) -> bool:
        """Return whether these mistakes reproduce the observation."""
        here = frozenset(name for name in names if self.shows(name))
        if here not in self._matched:
            self._matched[here] = self._reproduces(here)
        return self._matched[here]

    @cached_property
    def differs_only_where_not_finite(self) -> bool:
        """Whether the submission's values are wrong only where they are NaN or infinite."""
        seen, pipeline = self._seen, self._pipelines[0]
        pairs = [(seen.output, pipeline.output({}))]
        if seen.gradients is not None:
            right = pipeline.gradients({})
            pairs += [
                (grad, right[name]) for name, grad in seen.gradients.items() if grad is not None
            ]
        return all(
            expected is not None and same_where_finite(theirs, expected, RELATIVE_TOLERANCE * 10)
            for theirs, expected in pairs
        ) and not all(bool(theirs.isfinite().all()) for theirs, _ in pairs)

    def _reproduces(self, names: MistakeSet) -> bool:
        choices = self._choices(names)
        return any(self._done_by(pipeline, choices) for pipeline in self._pipelines)

    def _done_by(self, pipeline: Pipeline, choices: Choices) -> bool:
        out = pipeline.output(choices)
        if out is None or not same(out, self._seen.output, RELATIVE_TOLERANCE):
            return False
        if self._seen.gradients is None:
            return True
        return _same_gradients(pipeline.gradients(choices), self._seen.gradients)

    def _choices(self, names: Iterable[str]) -> dict[str, str]:
        return {self._mistakes[name].step: self._mistakes[name].choice for name in names}


def _same_gradients(right: dict[str, Tensor | None], found: dict[str, Tensor | None]) -> bool:
    for name, observed in found.items():
        expected = right.get(name)
        one = torch.zeros_like(observed) if expected is None and observed is not None else expected
        other = torch.zeros_like(one) if observed is None and one is not None else observed
        if one is not None and other is not None and not same(one, other, RELATIVE_TOLERANCE * 10):
            return False
    return True
