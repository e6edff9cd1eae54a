"""What a grading to come can know without a submission is computed before there is one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.practice.background_grader import BackgroundGrader
from grader.records import Report
from grader.sandbox.process import Sandbox
from grader.submission import read_submission
from grader.suite.calls import PlannedCall
from grader.suite.runner import SuiteRunner, suite_runner

ENDS = 60  # seconds, that a test which hangs ends


@pytest.fixture
def exercise() -> Exercise:
    return installed_kit().find("exercise1")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of right values that were computed, each time anew."""
    found: list[str] = []
    for name in ("compute_right_outputs", "compute_right_gradients"):
        compute = getattr(PlannedCall, name)

        def counted(
            call: PlannedCall, *args: object, name: str = name, compute: object = compute
        ) -> object:
            found.append(name)
            return compute(call, *args)  # type: ignore[operator]  # it is the method itself

        monkeypatch.setattr(PlannedCall, name, counted)
    return found


def test_a_foreseen_grading_computes_little_and_judges_the_same(
    exercise: Exercise, sandbox: Sandbox, computed: list[str]
) -> None:
    runner = suite_runner(exercise.suite)
    runner.foresee(71)
    foreseen = len(computed)
    assert foreseen > 60
    right = grade(read_submission(exercise.solution), exercise, Options(seed=71), sandbox)
    assert right.solved
    assert len(computed) - foreseen < foreseen / 3  # what depends on what was dropped, say


def test_foreseeing_ends_once_it_is_enough(exercise: Exercise, computed: list[str]) -> None:
    stop = threading.Event()
    stop.set()
    suite_runner(exercise.suite).foresee(72, stop)
    assert not computed


@pytest.fixture
def told() -> SimpleQueue[Report]:
    return SimpleQueue()


@pytest.fixture
def grader(
    told: SimpleQueue[Report], monkeypatch: pytest.MonkeyPatch
) -> Iterator[BackgroundGrader]:
    def tell(exercise: Exercise, submission: object, outcome: object) -> None:
        assert isinstance(outcome, Report)
        told.put(outcome)

    with BackgroundGrader(Sandbox, Options, tell) as made:
        yield made


@pytest.mark.slow("a grading, and one that is foreseen")
def test_a_grader_foresees_its_next_grading_until_it_is_wanted(
    exercise: Exercise,
    grader: BackgroundGrader,
    told: SimpleQueue[Report],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds: SimpleQueue[int] = SimpleQueue()

    def foresee(runner: SuiteRunner, seed: int, stop: threading.Event) -> None:
        seeds.put(seed)
        assert stop.wait(ENDS)

    monkeypatch.setattr(SuiteRunner, "foresee", foresee)
    submission = read_submission(exercise.solution)
    grader.grade(exercise, submission)
    first = told.get(timeout=ENDS).seed
    foreseen = seeds.get(timeout=ENDS)
    grader._next_seeds["another"] = 1
    grader.grade(exercise, submission)
    assert told.get(timeout=ENDS).seed == foreseen != first
    following = seeds.get(timeout=ENDS)
    assert following not in (first, foreseen)
    assert "another" not in grader._next_seeds
