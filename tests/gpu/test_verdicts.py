"""On a GPU a file has the verdicts that it has on the CPU, and its mistakes their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu_files import differences
from grader.diagnosis.catalogue import Mistake, mistakes_for
from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from tests.support.answers import of_kind
from tests.support.paths import ROOT
from tests.support.planted import contract_of, planted
from tests.support.wrong import wrong_versions

if not (torch.cuda.is_available() or "GRADE_GPU_TESTS_DEVICE" in os.environ):
    pytest.skip("there is no GPU here", allow_module_level=True)
pytestmark = pytest.mark.gpu

KIT = load_kit(ROOT)
SEEDS = range(5)
each_exercise = pytest.mark.parametrize("exercise", KIT.exercises, ids=lambda e: e.name)


def both(
    exercise: Exercise, file: Submission, seed: int, device: str, sandboxes: tuple[Sandbox, Sandbox]
) -> tuple[Report, Report]:
    """What a file earns on the CPU, and on the device."""
    options = Options(seed, "cpu", timeout=30.0, explain=Explain.NOTHING)
    cpu, other = sandboxes
    one = grade(file, exercise, options, cpu)
    return one, grade(file, exercise, replace(options, device=device), other)


@pytest.fixture
def sandboxes(without_gpu: Sandbox, sandbox: Sandbox) -> tuple[Sandbox, Sandbox]:
    return without_gpu, sandbox


def rights(exercise: Exercise) -> list[Submission]:
    """Our solution, and right answers in other styles."""
    others = [one.submission for one in of_kind(exercise, "right")]
    return [read_submission(exercise.solution), *others]


def wrongs(exercise: Exercise) -> Iterator[Submission]:
    """The known mistakes: edits of our solution, and answers wrong in some situations only."""
    for version in wrong_versions(exercise):
        yield replace(version.submission(), path=Path(f"{version.mistake.name}.py"))
    for one in of_kind(exercise, "wrong"):
        yield replace(one.submission, path=Path(f"{one.name}.py"))


@each_exercise
def test_right_answers_earn_everything(
    exercise: Exercise, device: str, sandboxes: tuple[Sandbox, Sandbox]
) -> None:
    lost = []
    for file in rights(exercise):
        for seed in SEEDS:
            cpu, other = both(exercise, file, seed, device, sandboxes)
            lost += [f"{file.path.name}, seed {seed}: {one}" for one in differences(cpu, other)]
            if file.path == exercise.solution:
                assert other.solved, other
    assert lost == []


@each_exercise
def test_known_mistakes_lose_the_same_checks(
    exercise: Exercise, device: str, sandboxes: tuple[Sandbox, Sandbox]
) -> None:
    changed = []
    for file in wrongs(exercise):
        for seed in SEEDS:
            cpu, other = both(exercise, file, seed, device, sandboxes)
            changed += [f"{file.path.name}, seed {seed}: {one}" for one in differences(cpu, other)]
    assert changed == []


def with_dropout() -> list[Any]:
    """Each mistake about dropout in each exercise that it applies to."""
    found = []
    for exercise in KIT.exercises:
        if exercise.track == "bugs" or not exercise.diagnosis:
            continue
        contract = contract_of(exercise)
        layout = getattr(contract, "layout", None)
        for mistake in mistakes_for(layout.features) if layout and layout.dropout else ():
            if mistake.part == "drop":
                name = f"{exercise.name}-{mistake.name}"
                found.append(pytest.param(exercise, mistake, id=name))
    return found


@pytest.mark.parametrize(("exercise", "mistake"), with_dropout())
def test_mistake_about_dropout_is_named(
    exercise: Exercise, mistake: Mistake, device: str, sandbox: Sandbox
) -> None:
    """Its noise is drawn by the device's own generator, on both sides."""
    file = planted(exercise, contract_of(exercise), [mistake])
    for seed in SEEDS:
        options = Options(seed, device, timeout=30.0, explain=Explain.CAUSE)
        report = grade(file, exercise, options, sandbox)
        assert not report.solved
        assert (mistake.name,) in report.diagnosis, report


def test_output_on_another_device_has_another_form(device: str, sandbox: Sandbox) -> None:
    exercise = KIT.find("exercise2")
    away = "meta" if device == "cpu" else "cpu"
    source = read_submission(exercise.solution).source
    entry = exercise.entry_points[0]
    source += f"\n\n_right = {entry}.forward\n"
    source += f"{entry}.forward = lambda *given: _right(*given).to('{away}')\n"
    for seed in SEEDS:
        options = Options(seed, device, explain=Explain.NOTHING)
        report = grade(Submission(Path("moved.py"), source), exercise, options, sandbox)
        (form,) = [check for check in report.checks if "keeps_shape" in check.name]
        assert form.verdict is Verdict.FAIL
        assert away in form.message
