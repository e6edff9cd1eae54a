"""Make a table of the points that a known mistake leaves of an exercise: ``docs/points.md``.

Grades each mistake that has one name in several exercises, alone in each of them, at some seeds.
Each result is stored at once, so that the same command continues where it was stopped.

Usage: python -m benchmarks.points [--seeds 1 2] [--kept FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import mean

import msgspec

from benchmarks.gradings import Grading, own_sandbox, read_stored, try_all
from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.records import Explain
from tests.support.paths import ROOT
from tests.support.wrong import Wrong, wrong_versions

POINTS_PAGE = ROOT / "docs" / "points.md"
MIN_EXERCISES = 8  # in which a mistake has to be known
SEEDS = (1, 2)
PAGE_HEAD = """# What a mistake leaves

Made by `python -m benchmarks.points`: the points that are left where one mistake is made and
nothing else is wrong, at a few seeds; two numbers where they are not the same at all of them. Above
stands what can be had. The mistakes that leave least come first; `grade mistakes` explains each.

"""


class PointsLeft(msgspec.Struct):
    """The points that one mistake left in one grading."""

    exercise: str
    mistake: str
    seed: int
    earned: int
    possible: int


def table_exercises() -> list[Exercise]:
    """Return the exercises of the table, in order: all but the fix-it ones."""
    return [one for one in installed_kit().exercises if one.track != "bugs"]


@cache
def common_mistakes() -> dict[str, dict[str, Wrong]]:
    """Return the mistakes of the table by name, and their wrong versions by exercise."""
    known: dict[str, dict[str, Wrong]] = defaultdict(dict)
    for exercise in table_exercises():
        for wrong in wrong_versions(exercise):
            known[wrong.mistake.name][exercise.name] = wrong
    return {name: each for name, each in known.items() if len(each) >= MIN_EXERCISES}


def try_one(one: Grading) -> PointsLeft:
    """Grade a mistake in an exercise at a seed, and return the points left."""
    wrong = common_mistakes()[one.answer][one.exercise]
    options = Options(seed=one.seed, device="cpu", explain=Explain.NOTHING)
    report = grade(wrong.submission(), wrong.exercise, options, own_sandbox())
    return PointsLeft(*one, report.earned, report.possible)


def table(found: Sequence[PointsLeft]) -> str:
    """Return the text of the whole file."""
    possible = {one.exercise: one.possible for one in found if one.possible}
    cells: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        cells[one.mistake][one.exercise].append(one.earned)
    order = sorted(cells, key=lambda name: (_share(cells[name], possible), name))
    names = [one.name for one in table_exercises()]
    rows = [
        ("mistake", *map(_short, names)),
        ("---", *("---:" for _ in names)),
        ("*can be had*", *(str(possible[name]) for name in names)),
        *((name, *(_cell(cells[name].get(one, [])) for one in names)) for name in order),
    ]
    return PAGE_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def cells_of(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the mistake, the exercise and the points left, of each non-empty cell of the file."""
    rows = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    for mistake, *cells in rows[3:]:
        for exercise, cell in zip(table_exercises(), cells, strict=True):
            if cell:
                yield mistake, exercise.name, cell


def _short(exercise: str) -> str:
    return exercise.replace("exercise", "e").replace("decoder", "d").replace("warmup", "w")


def _cell(earned: Sequence[int]) -> str:
    least, most = min(earned, default=None), max(earned, default=None)
    return "" if least is None else str(least) if least == most else f"{least}–{most}"


def _share(cells: Mapping[str, Sequence[int]], possible: Mapping[str, int]) -> float:
    """Return the mean share of the possible points that a mistake leaves, over its exercises."""
    return mean(mean(earned) / possible[name] for name, earned in cells.items())


def main() -> None:
    """Do the gradings that are left, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--kept", type=Path, default=Path(".grade/points.jsonl"))
    asked = parser.parse_args()
    asked.kept.parent.mkdir(parents=True, exist_ok=True)
    found = read_stored(asked.kept, PointsLeft)
    done = {(one.exercise, one.mistake, one.seed) for one in found}
    wanted = [
        Grading(exercise, name, seed)
        for seed in asked.seeds
        for exercise, name in sorted(
            (e, name) for name, each in common_mistakes().items() for e in each
        )
    ]
    left = [one for one in wanted if one not in done]
    for number, one in enumerate(try_all(try_one, left, asked.kept), start=1):
        found.append(one)
        if number % 100 == 0:
            print(f"{number} of {len(left)}", file=sys.stderr, flush=True)
    POINTS_PAGE.write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main()
