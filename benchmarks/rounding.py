"""Measure how far off answers are, compared with our solution under noise in every operation.

Takes each output and gradient of each situation that is further off than its tight bound, and
prints the largest ratios of its error to the error under noise.

Usage: python -m benchmarks.rounding EXERCISE [ANSWER ...] [--runs 12] [--seeds 1]

Without answers, measures all right ones. `python -m tests.answers list EXERCISE` names the others.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from math import inf
from typing import NamedTuple

import torch

from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from grader.suite.situations.rounding import GRADIENTS, Rounding
from grader.suite.tolerance import Gap
from tests.support.answers import find, right_answers

MAX_PRINTED_VALUES = 3


class NoiseRatios(NamedTuple):
    """How many times as far off as under noise a value is, by largest difference and by norm."""

    largest: float
    length: float
    name: str


def noise_ratios(rounding: Rounding, name: str, off: Gap, runs: int) -> NoiseRatios:
    """Return the ratios of a value's gap to the largest gaps of several runs with noise."""
    noises = [rounding.gap(name, torch.float64, seed) for seed in range(1, runs + 1)]
    most = Gap(*map(max, *noises))
    ratios = [a / b if b else inf for a, b in zip(off, most, strict=True)]
    return NoiseRatios(*ratios, f"{name} {tuple(rounding.right[name].shape)}")


def measure(exercise: str, answers: list[str], runs: int, seeds: int) -> None:
    """Print, for each dtype of outputs and gradients, how far off the furthest values are."""
    one = installed_kit().find(exercise)
    files: list[Submission] = [find(one, name).submission for name in answers]
    if not answers:
        files = [read_submission(one.solution), *(a.submission for a in right_answers(one))]
    found: dict[str, list[NoiseRatios]] = defaultdict(list)
    is_rounding = Rounding.is_rounding

    def looked_at(rounding: Rounding, name: str, off: Gap) -> bool:
        what = "gradient" if rounding.quantity == GRADIENTS else "output"
        kind = f"{str(rounding.dtype).removeprefix('torch.')} {what}"
        found[kind].append(noise_ratios(rounding, name, off, runs))
        return is_rounding(rounding, name, off)

    Rounding.is_rounding = looked_at  # type: ignore[method-assign]
    options = [Options(seed=seed, explain=Explain.NOTHING, timeout=60) for seed in range(seeds)]
    with Sandbox() as sandbox:
        for file in files:
            for option in options:
                grade(file, one, option, sandbox)
    for kind, times in sorted(found.items()):
        print(f"{kind}: {len(times)} further off than the tight bound; as many times as noise:")
        for largest, length, where in sorted(times, reverse=True)[:MAX_PRINTED_VALUES]:
            print(f"  {largest:8.2f} at most, {length:8.2f} in all   {where}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercise")
    parser.add_argument("answers", nargs="*")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    measure(given.exercise, given.answers, given.runs, given.seeds)
