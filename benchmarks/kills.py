"""The kill matrix: in which situations each wrong answer of the tests fails.

Results are kept as they come: the same command goes on where it was stopped.

Usage: python -m benchmarks.kills KEPT [--seeds 1 ...] [--exercises NAME ...] [--few OTHER]

With ``--few`` only those answers that some, but few situations caught in another such file.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from unittest.mock import patch

import msgspec

from benchmarks.gradings import Grading, own_sandbox, read, try_all
from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.records import Explain
from grader.submission import Submission
from grader.suite.harness import Harness
from grader.suite.situations import implied
from grader.suite.situations.judging import Judgement
from grader.suite.situations.outcomes import Outcome
from grader.suite.situations.trial import judge_situations
from tests.support.answers import of_kind
from tests.support.wrong import wrong_versions

MANY = 12  # situations that fail: fewer are few


class Killed(msgspec.Struct):
    """What a wrong answer lost.

    Attributes:
        situations: How many there were, of the exercise's contract and those inside it.
        failed: The levels of those that failed.
        lost: The first check that it lost, if any.
    """

    exercise: str
    answer: str
    seed: int
    situations: int
    failed: list[dict[str, str]]
    lost: str


@cache
def wrong_answers(exercise: Exercise) -> dict[str, Submission]:
    """Known mistakes and wrong answers of an exercise, by name; those that are accepted are not."""
    known = {one.mistake.name: one.submission() for one in wrong_versions(exercise)}
    others = [one for one in of_kind(exercise, "wrong") if not one.accepted]
    return known | {one.name: one.submission for one in others}


def try_one(asked: Grading) -> Killed:
    """Grade it, and note what its situations gave."""
    exercise = installed_kit().find(asked.exercise)
    tried: list[Outcome] = []

    def noted(harness: Harness) -> Judgement:
        judged = judge_situations(harness)
        tried.extend((*judged.outcomes, *judged.inside))
        return judged

    submission = wrong_answers(exercise)[asked.answer]
    options = Options(seed=asked.seed, explain=Explain.NOTHING, first=True)
    with patch.object(implied, "judge_situations", noted):
        report = grade(submission, exercise, options, own_sandbox())
    lost = next((one.name for one in report.checks if one.is_lost), "")
    failed = [dict(one.row) for one in tried if one.aspect is not None]
    return Killed(*asked, len(tried), failed, lost)


def main() -> None:
    """Try those that were not, then print how many are caught by how many situations."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kept", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--exercises", nargs="*", default=[])
    parser.add_argument("--few", type=Path)
    given = parser.parse_args()
    results = read(given.kept, Killed)
    others = read(given.few, Killed) if given.few else []
    few = {(one.exercise, one.answer) for one in others if 0 < len(one.failed) < MANY}
    done = {Grading(one.exercise, one.answer, one.seed) for one in results}
    kit = installed_kit()
    every = [kit.find(name) for name in given.exercises] or kit.exercises
    left = [
        asked
        for exercise, seed in itertools.product(every, given.seeds)
        for name in wrong_answers(exercise)
        if not given.few or (exercise.name, name) in few
        if (asked := Grading(exercise.name, name, seed)) not in done
    ]
    results += try_all(try_one, left, given.kept)
    counts = Counter(len(one.failed) for one in results if len(one.failed) < MANY)
    print(f"{len(results)} gradings; fail in so few situations: {sorted(counts.items())}")
    accepted = [one for one in results if not one.lost and not one.failed]
    for one in accepted:
        print(f"accepted: {one.exercise} {one.answer} at seed {one.seed}")
    sys.exit(1 if accepted else 0)


if __name__ == "__main__":
    main()
