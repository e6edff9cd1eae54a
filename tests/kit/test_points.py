"""The tables of what mistakes leave say what is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.points import POINTS_PAGE, cells_of, common_mistakes
from grader.grading import Options
from grader.kit import installed_kit
from grader.records import Explain
from tests.conftest import Grade
from tests.support.drawing import sampled
from tests.support.paths import ROOT
from tests.support.wrong import wrong_versions

SCORING = ROOT / "docs" / "scoring.md"

CELLS = [*cells_of(POINTS_PAGE.read_text(encoding="utf-8"))]
SLIPS = re.findall(r"^\| ([a-z].+) \| (\d+) \|$", SCORING.read_text(encoding="utf-8"), re.MULTILINE)
SEED = 11  # none of those that the tables were made at
CHANCE = 2  # points that another seed may make of a mistake that is a matter of chance


def left_by(mistake: str, exercise: str, graded: Grade) -> int:
    wrong = {one.mistake.name: one for one in wrong_versions(installed_kit().find(exercise))}
    options = Options(seed=SEED, device="cpu", explain=Explain.NOTHING)
    return graded(wrong[mistake].submission(), wrong[mistake].exercise, options).earned


def test_every_common_mistake_is_in_the_table() -> None:
    wanted = {
        (mistake, exercise) for mistake, each in common_mistakes().items() for exercise in each
    }
    assert {(mistake, exercise) for mistake, exercise, _ in CELLS} == wanted


@pytest.mark.exhaustive
@pytest.mark.parametrize(("mistake", "exercise", "left"), CELLS)
def test_mistake_leaves_what_the_table_says(
    mistake: str, exercise: str, left: str, graded: Grade
) -> None:
    least, _, most = left.partition("–")
    earned = left_by(mistake, exercise, graded)
    assert int(least) - CHANCE <= earned <= int(most or least) + CHANCE


def each_slip() -> Iterator[Any]:
    for slip, left in SLIPS:
        yield pytest.param(
            slip, int(left), id=slip, marks=sampled("slips of the page on scores", 2)
        )


@pytest.mark.parametrize(("slip", "left"), [*each_slip()])
def test_slip_leaves_the_same_at_another_seed(slip: str, left: int, graded: Grade) -> None:
    assert left_by(slip, "exercise3", graded) == left
