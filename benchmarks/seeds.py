"""Grade right answers, each time at a seed of its own: none may ever lose a point.

Takes every solution, every right answer of the tests, and those of the given folders; round after
round, in two processes. What took long in an earlier round is left out of nine rounds in ten.
Each result is stored at once: the same command continues where it was stopped.

Usage: python -m benchmarks.seeds [--gradings 10000] [--kept FILE] [FOLDER ...]

A folder holds a folder named after each exercise, with its right answers in `right_*.py`.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.gradings import Grading, own_sandbox, read_stored, try_all
from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.records import Verdict
from grader.submission import Submission, read_submission
from tests.support.answers import answers

CHUNK_SIZE = 20  # gradings in a chunk, sorted by exercise so that a suite is loaded less often
LONG_GRADING_S = (
    4.0  # an answer that takes longer is graded in one of ROUNDS_PER_LONG_GRADING rounds
)
ROUNDS_PER_LONG_GRADING = 10


class Result(msgspec.Struct):
    """The result of a grading: the checks that were lost or skipped, each with its message."""

    exercise: str
    answer: str
    seed: int
    lost: dict[str, str]
    skipped: dict[str, str]
    seconds: float


def right_answers(folders: list[Path]) -> list[tuple[str, str]]:
    """Return pairs of an exercise and the name or path of a right answer."""
    found = []
    for exercise in installed_kit().exercises:
        known = [one.name for one in answers(exercise) if one.kind != "wrong"]
        others = [p for one in folders for p in sorted((one / exercise.name).rglob("right_*.py"))]
        found += [(exercise.name, str(one)) for one in (exercise.solution, *known, *others)]
    return found


def submission_of(exercise: Exercise, answer: str) -> Submission:
    """Return the submission for an answer, which is given by its name or by its path."""
    known = {one.name: one.submission for one in answers(exercise)}
    return known[answer] if answer in known else read_submission(Path(answer))


def gradings(every: list[tuple[str, str]], turn: int) -> Iterator[Grading]:
    """Yield all gradings of a round; every file has a seed of its own in every round."""
    order = list(enumerate(every))
    random.Random(turn).shuffle(order)
    for chunk in (order[i : i + CHUNK_SIZE] for i in range(0, len(order), CHUNK_SIZE)):
        for number, (exercise, answer) in sorted(chunk, key=lambda one: one[1]):
            yield Grading(exercise, answer, turn * len(every) + number)


def left_of(every: list[tuple[str, str]], turn: int, results: list[Result]) -> list[Grading]:
    """Return the gradings that a round still has to do."""
    done = {one.seed for one in results}
    long = {(one.exercise, one.answer) for one in results if one.seconds > LONG_GRADING_S}
    return [
        one
        for one in gradings(every, turn)
        if one.seed not in done
        and (turn % ROUNDS_PER_LONG_GRADING == 0 or (one.exercise, one.answer) not in long)
    ]


def try_one(one: Grading) -> Result:
    """Grade an answer, and return the checks that were lost or skipped and the time taken."""
    exercise: Exercise = installed_kit().find(one.exercise)
    submission = submission_of(exercise, one.answer)
    start = time.monotonic()
    report = grade(submission, exercise, Options(seed=one.seed), own_sandbox())
    seconds = time.monotonic() - start
    lost = [c for c in report.checks if c.is_lost]
    skipped = [c for c in report.checks if c.verdict is Verdict.SKIP]
    return Result(*one, *({c.name: c.message for c in some} for some in (lost, skipped)), seconds)


def main() -> None:
    """Print each lost check at once, and in the end how many gradings lost points."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--gradings", type=int, default=10_000)
    parser.add_argument("--kept", type=Path, default=Path(".grade/seeds.jsonl"))
    asked = parser.parse_args()
    asked.kept.parent.mkdir(parents=True, exist_ok=True)
    results = read_stored(asked.kept, Result)
    every = right_answers(asked.folders)
    for turn in itertools.count():
        wanted = max(asked.gradings - len(results), 0)
        if not wanted:
            break
        for one in try_all(try_one, left_of(every, turn, results)[:wanted], asked.kept):
            results.append(one)
            for name, message in one.lost.items():
                print(f"{one.exercise} {one.answer} seed {one.seed}: {name}: {message}", flush=True)
            if len(results) % 100 == 0:
                print(f"{len(results)} gradings", file=sys.stderr, flush=True)
    losers = sum(bool(one.lost) for one in results)
    skipped = sum(bool(one.skipped) for one in results)
    print(
        f"{len(results)} gradings of right answers: {losers} lost points, {skipped} skipped checks"
    )
    sys.exit(1 if losers else 0)


if __name__ == "__main__":
    main()
