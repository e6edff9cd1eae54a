"""Measure how often a mistake is named in a diagnosis, and how long that takes.

Usage: python benchmarks/diagnosis.py [PAIRS] [TRIPLES]

Mistakes of the catalogue, alone and in sets, written out as submissions; and those known wrong
versions of ``tests/answers``, written by hand, whose values or gradients are wrong.
"""

from __future__ import annotations

import itertools
import random
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from grader.attention.contract import AttentionContract
from grader.diagnosis.catalogue import Mistake, mistakes_for
from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.records import CheckResult, Explain, Verdict
from grader.sandbox.process import Sandbox
from tests.support.planted import contract_of, explained, planted
from tests.support.wrong import wrong_versions

ROOT = Path(__file__).parent.parent


@dataclass
class Tally:
    """The results for sets of mistakes of one size."""

    tried: int = 0
    survived: int = 0
    named: int = 0
    equivalent: int = 0  # explained by another set, which reproduces every observed number
    seconds: list[float] = field(default_factory=list)

    def line(self, title: str) -> str:
        """Return the figures in one line."""
        median = statistics.median(self.seconds) * 1000 if self.seconds else 0.0
        share = 100 * (self.named + self.equivalent) / max(self.tried, 1)
        return (
            f"{title:<8} {self.tried:>4} tried, {self.survived} survive the suite, {self.named} "
            f"named and {self.equivalent} by an equivalent set: {share:.1f} %, "
            f"calls and search {median:.0f} ms"
        )


class Bench:
    """A bench that plants mistakes and tries wrong versions, all in one sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def plant(
        self,
        tally: Tally,
        exercise: Exercise,
        contract: AttentionContract,
        mistakes: Sequence[Mistake],
    ) -> None:
        """Plant a set of mistakes in a submission, and tally whether the diagnosis names it."""
        submission = planted(exercise, contract, mistakes)
        options = Options(seed=1, device="cpu", explain=Explain.NOTHING)
        tally.tried += 1
        names = {mistake.name for mistake in mistakes}
        if grade(submission, exercise, options, self.sandbox).solved:
            tally.survived += 1
            print(f"survives {exercise.name}: {' + '.join(sorted(names))}")
        started = time.perf_counter()
        found = explained(submission, contract, self.sandbox)
        tally.seconds.append(time.perf_counter() - started)
        sets = [{mistake.name for mistake in one} for one in found.sets]
        if names in sets:
            tally.named += 1
        elif sets and not found.unexplained:
            tally.equivalent += 1
        else:
            print(f"unnamed  {exercise.name}: {' + '.join(sorted(names))}")

    def by_hand(self, exercises: Iterable[Exercise]) -> None:
        """Print how many hand-written wrong versions are named, and how many after public code."""
        named = tried = public = public_named = 0
        options = Options(seed=1, device="cpu", explain=Explain.CAUSE)
        for exercise in exercises:
            for wrong in wrong_versions(exercise):
                report = grade(wrong.submission(), exercise, options, self.sandbox)
                if not differs(report.checks):
                    continue
                tried += 1
                named += bool(report.diagnosis)
                if wrong.mistake.seen.startswith("facts"):
                    public += 1
                    public_named += bool(report.diagnosis)
                if not report.diagnosis:
                    print(f"unnamed  {exercise.name}, by hand: {wrong.mistake.name}")
        print(f"by hand  {tried} with other values: {100 * named / tried:.1f} % named (90)")
        print(f"  of which {public} after public code: {100 * public_named / public:.1f} % named")


def differs(checks: Iterable[CheckResult]) -> bool:
    """Return whether a check of the formula's values or gradients fails with a difference."""
    wanted = ("matches_the_formula", "gradient")
    return any(
        check.verdict is Verdict.FAIL
        and check.difference is not None
        and any(word in check.name for word in wanted)
        for check in checks
    )


def sample(mistakes: Sequence[Mistake], size: int, count: int) -> list[tuple[Mistake, ...]]:
    """Draw `count` sets of `size` mistakes, each set with mistakes in different steps."""
    rng = random.Random(size)
    found: list[tuple[Mistake, ...]] = []
    while len(found) < count:
        one = tuple(rng.sample(list(mistakes), size))
        if len({mistake.step for mistake in one}) == size:
            found.append(one)
    return found


def main(pairs: str = "60", triples: str = "10") -> None:
    """Print the rates for sets of one, two and three mistakes, and for hand-written versions."""
    torch.set_num_threads(1)
    exercises = [e for e in load_kit(ROOT).exercises if e.diagnosis]
    tallies = {1: Tally(), 2: Tally(), 3: Tally()}
    with Sandbox() as sandbox:
        bench = Bench(sandbox)
        for exercise in exercises:
            contract = contract_of(exercise)
            if getattr(contract, "layout", None) is None:
                continue
            possible = mistakes_for(contract.layout.features)
            sets = itertools.chain(
                ((mistake,) for mistake in possible),
                sample(possible, 2, int(pairs)),
                sample(possible, 3, int(triples)),
            )
            for one in sets:
                bench.plant(tallies[len(one)], exercise, contract, one)
        for size, title in ((1, "singles"), (2, "pairs"), (3, "triples")):
            print(tallies[size].line(title))
        bench.by_hand(exercises)


if __name__ == "__main__":
    main(*sys.argv[1:])
