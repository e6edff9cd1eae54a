"""The table of what mistakes leave says what is so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.points import FILE, cells_of, common
from grader.grading import Options
from grader.records import Explain
from tests.conftest import Grade
from tests.support.drawing import some

CELLS = [*cells_of(FILE.read_text(encoding="utf-8"))]
EACH_TIME = 6
SEED = 11  # none of those that the table was made at


def each_cell() -> Iterator[Any]:
    for mistake, exercise, left in CELLS:
        marks = some("what a mistake leaves", EACH_TIME)
        yield pytest.param(mistake, exercise, left, id=f"{exercise}-{mistake}", marks=marks)


def test_every_common_mistake_is_in_the_table() -> None:
    wanted = {(mistake, exercise) for mistake, each in common().items() for exercise in each}
    assert {(mistake, exercise) for mistake, exercise, _ in CELLS} == wanted


@pytest.mark.parametrize(("mistake", "exercise", "left"), [*each_cell()])
def test_mistake_leaves_what_the_table_says(
    mistake: str, exercise: str, left: str, graded: Grade
) -> None:
    wrong = common()[mistake][exercise]
    options = Options(seed=SEED, device="cpu", explain=Explain.NOTHING)
    report = graded(wrong.submission(), wrong.exercise, options)
    least, _, most = left.partition("–")
    assert int(least) <= report.earned <= int(most or least)
