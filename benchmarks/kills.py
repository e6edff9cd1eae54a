"""Find the kill matrix: in which situations each wrong answer of the tests fails.

Each result is stored at once: the same command continues where it was stopped.

Usage: python -m benchmarks.kills KEPT [--seeds 1 ...] [--exercises NAME ...] [--few OTHER]
                                    [--dominated] [--chance]

With ``--few``, try only the answers that few situations, but at least one, caught in another such
file. With ``--dominated``, also print the answers that a narrower one makes needless. With
``--chance``, write ``docs/chance.md``: the answers that lose other checks at another seed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from unittest.mock import patch

import msgspec

from benchmarks.gradings import Grading, own_sandbox, read_stored, try_all
from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.records import Explain
from grader.submission import Submission
from grader.suite.harness import Harness
from grader.suite.situations import implied
from grader.suite.situations.judging import Judgement
from grader.suite.situations.outcomes import SituationOutcome
from grader.suite.situations.trial import judge_situations
from tests.support.answers import of_kind
from tests.support.paths import ROOT
from tests.support.wrong import wrong_versions

CAUGHT_BY_MANY = 12  # failed situations; an answer with fewer counts as caught by few
CHANCE_PAGE = ROOT / "docs" / "chance.md"
PAGE_HEAD = """# What chance decides

Made by `python -m benchmarks.kills FILE --seeds {seeds} --chance`: the known mistakes and the wrong
answers of the tests that do not lose the same checks at each of these seeds, {count} of {every}. Of
these, {accepted} lose nothing at some of them. All others lose the same.{fewer}

What fails in few situations is wrong under rare conditions. Each seed draws what else meets there,
so that it shows in one situation more, or is told to another check. What fails in many is wrong
everywhere; the checks named here see it beside that or not, by numbers that each draws: where a
gradient in bfloat16 is hardly off, say.

| exercise | answer | fails in situations | checks that differ |
| --- | --- | ---: | --- |
"""


class Killed(msgspec.Struct):
    """The situations in which a wrong answer failed, and the checks that it lost.

    Attributes:
        situations: Number of situations tried, of the exercise's contract and those inside it.
        failed: The levels of each situation that failed.
        lost: The checks that it lost.
    """

    exercise: str
    answer: str
    seed: int
    situations: int
    failed: list[dict[str, str]]
    lost: list[str]


@cache
def wrong_answers(exercise: Exercise) -> dict[str, Submission]:
    """Return an exercise's known mistakes and wrong answers by name, except accepted ones."""
    known = {one.mistake.name: one.submission() for one in wrong_versions(exercise)}
    others = [one for one in of_kind(exercise, "wrong") if not one.accepted]
    return known | {one.name: one.submission for one in others}


def try_one(asked: Grading) -> Killed:
    """Grade a wrong answer, and record the outcomes of its situations."""
    exercise = installed_kit().find(asked.exercise)
    tried: list[SituationOutcome] = []

    def noted(harness: Harness, is_one_enough: bool) -> Judgement:
        judged = judge_situations(harness, is_one_enough)
        tried.extend((*judged.outcomes, *judged.inner_outcomes))
        return judged

    submission = wrong_answers(exercise)[asked.answer]
    options = Options(seed=asked.seed, explain=Explain.NOTHING)
    with patch.object(implied, "judge_situations", noted):
        report = grade(submission, exercise, options, own_sandbox())
    lost = [one.name for one in report.checks if one.is_lost]
    failed = [dict(one.row) for one in tried if one.aspect is not None]
    return Killed(*asked, len(tried), failed, lost)


def dominated(results: list[Killed]) -> Iterator[Killed]:
    """Yield the answers that tell no more than a narrower one of the same exercise and seed.

    They fail in every situation in which the narrower one fails, and lose every check that it
    loses. The widest come first; of two that fail alike, one is kept.
    """
    kept = {(one.exercise, one.answer, one.seed): one for one in results if one.lost}
    for one in sorted(kept.values(), key=lambda one: (-len(one.failed), -len(one.lost))):
        if any(other is not one and _is_within(other, one) for other in kept.values()):
            del kept[one.exercise, one.answer, one.seed]
            yield one


def _is_within(one: Killed, other: Killed) -> bool:
    """Return whether the other fails wherever this one fails, and loses what this one loses."""
    alike = (one.exercise, one.seed) == (other.exercise, other.seed)
    is_told = bool(one.failed) or not other.failed  # else situations say nothing of the two
    narrower = all(row in other.failed for row in one.failed) and {*one.lost} <= {*other.lost}
    return alike and is_told and narrower


def chance_page(results: Sequence[Killed]) -> str:
    """Return the text of the page on the answers that lose other checks at another seed."""
    found: dict[tuple[str, str], list[Killed]] = defaultdict(list)
    for one in results:
        found[one.exercise, one.answer].append(one)
    rows, accepted = [], 0
    for (exercise, answer), runs in sorted(found.items()):
        accepted += not all(one.lost for one in runs)
        lost = [{*one.lost} for one in runs]
        if differ := set.union(*lost) - set.intersection(*lost):
            counts = sorted(len(one.failed) for one in runs)
            few, many = counts[0], counts[-1]
            cells = (exercise, answer, str(few) if few == many else f"{few}–{many}")
            names = ", ".join(name.removeprefix("test_") for name in sorted(differ))
            rows.append(f"| {' | '.join(cells)} | {names} |\n")
    seeds = sorted({one.seed for one in results})
    short = sorted({exercise for (exercise, _), runs in found.items() if len(runs) < len(seeds)})
    fewer = f" Not at all of these seeds yet: {', '.join(short)}." if short else ""
    every = {"count": len(rows), "every": len(found), "accepted": accepted, "fewer": fewer}
    return PAGE_HEAD.format(seeds=" ".join(map(str, seeds)), **every) + "".join(rows)


def answers_of_chance(text: str) -> set[tuple[str, str]]:
    """Return the exercise and the answer of each row of the page."""
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {(exercise[2:], answer) for exercise, answer, *_ in rows[2:]}


def main() -> None:
    """Try the answers not yet tried; print how many answers fail in how many situations."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kept", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--exercises", nargs="*", default=[])
    parser.add_argument("--few", type=Path)
    parser.add_argument("--dominated", action="store_true")
    parser.add_argument("--chance", action="store_true")
    given = parser.parse_args()
    results = read_stored(given.kept, Killed)
    others = read_stored(given.few, Killed) if given.few else []
    few = {(one.exercise, one.answer) for one in others if 0 < len(one.failed) < CAUGHT_BY_MANY}
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
    counts = Counter(len(one.failed) for one in results if len(one.failed) < CAUGHT_BY_MANY)
    print(f"{len(results)} gradings; fail in so few situations: {sorted(counts.items())}")
    accepted = [one for one in results if not one.lost and not one.failed]
    for one in accepted:
        print(f"accepted: {one.exercise} {one.answer} at seed {one.seed}")
    for one in dominated(results) if given.dominated else ():
        print(f"dominated: {one.exercise} {one.answer} at seed {one.seed}")
    if given.chance:
        CHANCE_PAGE.write_text(chance_page(results), encoding="utf-8")
    sys.exit(1 if accepted else 0)


if __name__ == "__main__":
    main()
