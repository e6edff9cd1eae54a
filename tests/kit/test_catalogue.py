"""The catalogue proves the suites and the diagnosis: every mistake loses points and is named."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.attention.observe import DROPPED, DROPPED_MASKED
from grader.attention.steps import CHOICES
from grader.attention.steps.state import SETTLED
from grader.diagnosis.catalogue import Mistake, catalogue, mistakes_for
from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.records import Report
from grader.sandbox.process import Sandbox
from grader.submission import read_submission
from tests.support.paths import ANSWERS, ROOT
from tests.support.planted import contract_of, explained, planted
from tests.support.sampling import some_of

KIT = load_kit(ROOT)
OPTIONS = Options(seed=1, device="cpu")
EACH_TIME = 40  # of the mistakes in each exercise, and of the right answers
PAIRS = 3  # of each exercise; benchmarks/diagnosis.py tries many more


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
        if SETTLED[one.step, one.choice].isdisjoint(SETTLED[other.step, other.choice])
    ]
    return random.Random(exercise.name).sample(possible, PAIRS)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded machine is no reason to name nothing."""
    monkeypatch.setattr("grader.attention.search.SECONDS", 10.0)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def graded(exercise: Exercise, mistakes: list[Mistake], sandbox: Sandbox) -> Report:
    return grade(planted(exercise, contract_of(exercise), mistakes), exercise, OPTIONS, sandbox)


@pytest.mark.parametrize("exercise", with_form(), ids=lambda e: e.name)
def test_pipeline_done_right_earns_everything(exercise: Exercise, sandbox: Sandbox) -> None:
    report = graded(exercise, [], sandbox)
    assert report.solved, report
    assert report.diagnosis == ()


def each_planted() -> Iterator[Any]:
    """Every mistake in every exercise that it applies to."""
    named = [
        (f"{exercise.name}-{mistake.name}", (exercise, mistake))
        for exercise in with_form()
        for mistake in applicable(exercise)
    ]
    yield from some_of(named, EACH_TIME)


def each_right() -> Iterator[Any]:
    """Every right answer of an exercise that has a layout."""
    named = [
        (f"{exercise.name}-{path.stem}", (exercise, path))
        for exercise in with_form()
        for path in sorted((ANSWERS / exercise.name).glob("right_*.py"))
    ]
    yield from some_of(named, EACH_TIME)


@pytest.mark.parametrize(("exercise", "mistake"), list(each_planted()))
def test_mistake_loses_points_and_is_named(
    exercise: Exercise, mistake: Mistake, sandbox: Sandbox
) -> None:
    report = graded(exercise, [mistake], sandbox)
    assert not report.solved, "it survives"
    assert (mistake.name,) in report.diagnosis
    assert report.cause is not None
    assert catalogue()[report.diagnosis[0][0]].says in report.cause.says
    lost = {check.name for check in report.checks if check.verdict in ("fail", "error")}
    assert lost == set(report.cause.follows), "all that fails follows from it"


@pytest.mark.parametrize(
    ("exercise", "pair"),
    [(exercise, pair) for exercise in with_form() for pair in pairs(exercise)],
    ids=lambda value: "+".join(m.name for m in value) if isinstance(value, tuple) else value.name,
)
def test_two_mistakes_lose_points_and_are_named(
    exercise: Exercise, pair: tuple[Mistake, Mistake], sandbox: Sandbox
) -> None:
    report = graded(exercise, list(pair), sandbox)
    assert not report.solved, "they survive"
    names = {mistake.name for mistake in pair}
    # One may hide the other: then what is named reproduces every number that was seen.
    assert report.diagnosis
    assert any(names >= set(found) or len(found) == 2 for found in report.diagnosis)


@pytest.mark.parametrize(("exercise", "path"), list(each_right()))
def test_right_answer_shows_no_mistake(exercise: Exercise, path: Path, sandbox: Sandbox) -> None:
    found = explained(read_submission(path), contract_of(exercise), sandbox)
    assert found.sets == ((),)
    # Dropout by random numbers of its own cannot be foretold, and is no mistake.
    assert set(found.left) <= {DROPPED, DROPPED_MASKED}


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
