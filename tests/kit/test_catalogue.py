"""The catalogue proves the suites and the diagnosis: every mistake loses points and is named."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from grader.attention.observe import IN_TRAINING, IN_TRAINING_UNDER_MASK
from grader.attention.steps import CHOICES
from grader.attention.steps.state import SETTLED_STEPS
from grader.diagnosis.catalogue import Mistake, catalogue, mistakes_for
from grader.grading import Options
from grader.kit import Exercise, load_kit
from grader.records import Report
from grader.sandbox.process import Sandbox
from tests.conftest import Grade
from tests.support.answers import Answer, of_kind
from tests.support.drawing import sampled
from tests.support.paths import ROOT
from tests.support.planted import contract_of, explained, planted

pytestmark = pytest.mark.usefixtures("patient")
KIT = load_kit(ROOT)
OPTIONS = Options(seed=1, device="cpu")
MISTAKES, RIGHT, PAIRS = 8, 4, 3  # that are drawn each time
SEEN_IN_NAN_ALONE = {  # it proves nothing
    "mask-fills-the-weights",
    "mask-zero-times-infinity",
    "mask-fill-plus-infinity",
}
PAIRS_OF_EACH = 3  # exercise; benchmarks/diagnosis.py tries many more


def with_form() -> list[Exercise]:
    """Where a report names mistakes; what a fix-it exercise breaks is among them."""
    return [
        exercise
        for exercise in KIT.exercises
        if exercise.diagnosis and getattr(contract_of(exercise), "layout", None) is not None
    ]


def applicable(exercise: Exercise) -> list[Mistake]:
    layout = contract_of(exercise).layout
    assert layout is not None
    return mistakes_for(layout.features)


def pairs(exercise: Exercise) -> list[tuple[Mistake, Mistake]]:
    possible = [
        (one, other)
        for one, other in itertools.combinations(applicable(exercise), 2)
        if SETTLED_STEPS[one.step, one.choice].isdisjoint(SETTLED_STEPS[other.step, other.choice])
    ]
    return random.Random(exercise.name).sample(possible, PAIRS_OF_EACH)


def planted_in(exercise: Exercise, mistakes: list[Mistake], graded: Grade) -> Report:
    return graded(planted(exercise, contract_of(exercise), mistakes), exercise, OPTIONS)


@pytest.mark.parametrize("exercise", with_form(), ids=lambda e: e.name)
def test_pipeline_done_right_earns_everything(exercise: Exercise, graded: Grade) -> None:
    report = planted_in(exercise, [], graded)
    assert report.solved, report
    assert report.diagnosis == ()


def each_planted() -> Iterator[Any]:
    """Every mistake in every exercise that it applies to."""
    for exercise in with_form():
        for mistake in applicable(exercise):
            marks = sampled("planted mistakes", MISTAKES)
            yield pytest.param(exercise, mistake, id=f"{exercise.name}-{mistake.name}", marks=marks)


def each_right() -> Iterator[Any]:
    """Every right answer of an exercise that has a layout."""
    for exercise in with_form():
        for one in of_kind(exercise, "right"):
            marks = sampled("right answers explained", RIGHT)
            yield pytest.param(exercise, one, id=f"{exercise.name}-{one.name}", marks=marks)


@pytest.mark.parametrize(("exercise", "mistake"), [*each_planted()])
def test_mistake_loses_points_and_is_named(
    exercise: Exercise, mistake: Mistake, graded: Grade
) -> None:
    report = planted_in(exercise, [mistake], graded)
    assert not report.solved, "it survives"
    assert report.cause is not None
    if mistake.name in SEEN_IN_NAN_ALONE:
        assert "NaN begins at" in report.cause.says
        return
    assert (mistake.name,) in report.diagnosis
    assert catalogue()[report.diagnosis[0][0]].says in report.cause.says
    lost = {check.name for check in report.checks if check.verdict in ("fail", "error")}
    assert lost == set(report.cause.follows), "all that fails follows from it"


@sampled("pairs of planted mistakes", PAIRS)
@pytest.mark.parametrize(
    ("exercise", "pair"),
    [(exercise, pair) for exercise in with_form() for pair in pairs(exercise)],
    ids=lambda value: "+".join(m.name for m in value) if isinstance(value, tuple) else value.name,
)
def test_two_mistakes_lose_points_and_are_named(
    exercise: Exercise, pair: tuple[Mistake, Mistake], graded: Grade
) -> None:
    report = planted_in(exercise, list(pair), graded)
    assert not report.solved, "they survive"
    names = {mistake.name for mistake in pair}
    if names & {*SEEN_IN_NAN_ALONE}:  # NaN hides the other, and is told by its line
        assert report.cause is not None
        assert report.diagnosis or "NaN begins at" in report.cause.says
        return
    # One may hide the other: then what is named reproduces every number that was seen.
    assert report.diagnosis
    assert any(names >= set(found) or len(found) == 2 for found in report.diagnosis)


@pytest.mark.parametrize(("exercise", "answer"), [*each_right()])
def test_right_answer_shows_no_mistake(
    exercise: Exercise, answer: Answer, sandbox: Sandbox
) -> None:
    found = explained(answer.submission, contract_of(exercise), sandbox)
    assert found.sets == ((),)
    # Dropout by random numbers of its own cannot be foretold, and is no mistake.
    assert set(found.unexplained) <= {IN_TRAINING, IN_TRAINING_UNDER_MASK}


def test_every_choice_is_in_the_catalogue_and_no_other() -> None:
    known = {(mistake.step, mistake.choice) for mistake in catalogue().values()}
    made = {(step, name) for step, ways in CHOICES.items() for name in ways} - {
        (step, "right") for step in CHOICES
    }
    assert known == made


def test_every_mistake_has_its_words_and_applies_somewhere() -> None:
    used = {mistake.name for exercise in with_form() for mistake in applicable(exercise)}
    for mistake in catalogue().values():
        assert mistake.name in used, f"{mistake.name} applies to no exercise"
        assert not mistake.says.endswith(".")
        assert mistake.hurts.endswith(".")
        assert mistake.hint.endswith("?")
        assert mistake.source
    assert len(catalogue()) >= 45
