"""The tables of what mistakes leave say what is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.kills import CHANCE_PAGE, answers_of_chance, wrong_answers
from benchmarks.points import POINTS_PAGE, cells_of, common_mistakes
from grader.grading import Options
from grader.kit import installed_kit
from grader.records import Explain
from tests.conftest import Grade
from tests.support.drawing import sampled, share
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


CHANCE_SEEDS = (1, 2)  # of those that the page was made at


@pytest.mark.parametrize("name", [one.name for one in installed_kit().exercises])
@sampled("exercises with an answer that chance does not decide", 3)
def test_what_chance_decides_is_listed(
    name: str, graded: Grade, request: pytest.FixtureRequest
) -> None:
    listed = answers_of_chance(CHANCE_PAGE.read_text(encoding="utf-8"))
    exercise = installed_kit().find(name)
    steady = {
        one: wrong for one, wrong in wrong_answers(exercise).items() if (name, one) not in listed
    }
    drawn = min(steady, key=lambda one: share(request.config.option.answers_seed, one))
    options = [Options(seed=s, device="cpu", explain=Explain.NOTHING) for s in CHANCE_SEEDS]
    first, second = (graded(steady[drawn], exercise, one).earned for one in options)
    assert first == second, f"{drawn} in {name}: {first} and {second} points"


def test_page_on_chance_names_answers_that_there_are() -> None:
    known = {(one.name, wrong) for one in installed_kit().exercises for wrong in wrong_answers(one)}
    listed = answers_of_chance(CHANCE_PAGE.read_text(encoding="utf-8"))
    assert listed
    assert listed <= known
