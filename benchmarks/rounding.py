"""By how much answers are off, beside what noise in every operation makes of what is right.

Of each output and gradient of each situation in which nothing is dropped: how many times as far
off as noise takes it. What is nearer than a floor, by its dtype, is left out.

Usage: python -m benchmarks.rounding EXERCISE [ANSWER ...] [--runs 12] [--seeds 1]

Without answers, all right ones. `python -m tests.answers list EXERCISE` names the others.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import NamedTuple

import torch
from torch import Tensor

from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from grader.suite.situations.levels import RESIDUAL, WAY
from grader.suite.situations.outcomes import Outcome
from grader.suite.situations.trying import Tried
from grader.suite.tolerance import Gap, Noise, spread
from tests.support.answers import find, right_answers

FLOOR = {torch.float32: 1e-6, torch.float64: 1e-10, torch.bfloat16: 1e-2}
SHOWN = 3


class Times(NamedTuple):
    """How many times as far off as noise a value is: the largest difference, the length of all."""

    largest: float
    length: float
    where: str


class Values(NamedTuple):
    """What came, what should have come, and how that is computed."""

    what: str
    came: dict[str, Tensor]
    right: dict[str, Tensor]
    compute: Callable[[Noise], Mapping[str, Tensor]]

    @property
    def far(self) -> list[str]:
        """Names of those that are further off than the floor."""
        return [
            name
            for name, right in self.right.items()
            if Gap.between(self.came[name], right).largest
            > FLOOR[self.came[name].dtype] * max(1.0, float(right.abs().nan_to_num(posinf=0).max()))
        ]


def values_of(tried: Tried) -> Iterator[Values]:
    """The outputs of a situation, and its gradients where they are asked for as usual."""
    situation, call = tried.situation, tried.call
    if situation.method or getattr(situation, "drops", False) or situation.visible is not None:
        return
    yield Values("output", call.outs, call.rights, lambda noise: call.compute_rights(noise=noise))
    if situation.wants_gradients and situation.scale == 1 and situation.row[WAY.name] != RESIDUAL:
        came = {n: x for n, x in call.gradients.items() if x is not None}
        came = {name: x for name, x in came.items() if name not in situation.frozen}
        right = {name: call.right_gradients[name] for name in came}
        yield Values(
            "gradient", came, right, lambda noise: call.compute_right_gradients(noise=noise)
        )


def times_of(tried: Tried, runs: int) -> Iterator[tuple[str, Times]]:
    """What of a situation is far off, and how many times as far as noise takes it."""
    situation = tried.situation
    is_exact = situation.contract.is_exact(situation.sizes)
    where = f"{situation.sizes}, {', '.join(situation.kinds.values())}"
    for values in values_of(tried):
        if not (far := values.far):
            continue
        most = spread(values.compute, values.right, situation.dtype, runs, is_exact)
        for name in far:
            off = Gap.between(values.came[name], values.right[name])
            ratios = [a / b if b else inf for a, b in zip(off, most[name], strict=True)]
            dtype = str(situation.dtype).removeprefix("torch.")
            yield f"{dtype} {values.what}", Times(*ratios, f"{name} at {where}")


def measure(exercise: str, answers: list[str], runs: int, seeds: int) -> None:
    """Print for each kind of value how far off the furthest are."""
    one = installed_kit().find(exercise)
    files: list[Submission] = [find(one, name).submission for name in answers]
    if not answers:
        files = [read_submission(one.solution), *(a.submission for a in right_answers(one))]
    found: dict[str, list[Times]] = defaultdict(list)
    outcome = Tried.outcome

    def looked_at(tried: Tried) -> Outcome:
        came = outcome(tried)
        if came.aspect is None or answers:
            for kind, times in times_of(tried, runs):
                found[kind].append(times)
        return came

    Tried.outcome = looked_at  # type: ignore[method-assign]
    options = [Options(seed=seed, explain=Explain.NOTHING, timeout=60) for seed in range(seeds)]
    with Sandbox() as sandbox:
        for file in files:
            for option in options:
                grade(file, one, option, sandbox)
    for kind, times in sorted(found.items()):
        print(f"{kind}: {len(times)} further off than the floor; as many times as noise:")
        for largest, length, where in sorted(times, reverse=True)[:SHOWN]:
            print(f"  {largest:8.2f} at most, {length:8.2f} in all   {where}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercise")
    parser.add_argument("answers", nargs="*")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    measure(given.exercise, given.answers, given.runs, given.seeds)
