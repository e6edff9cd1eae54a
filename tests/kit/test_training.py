"""The kit `training`, which has nothing to do with attention, holds as ours does."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.checking import Effort, Inspection
from grader.authoring.static_findings import kit_findings
from grader.cli import run_command
from grader.kit import installed_kit, load_kit
from grader.sandbox.process import Sandbox
from tests.support.drawing import sampled
from tests.support.paths import ROOT

KIT = load_kit(ROOT / "kits" / "training")
MOST_LINES = 150  # of a suite
EFFORT = Effort(2, 1, named=False, mutants=20)


@pytest.mark.slow("an exercise with all its answers, at two seeds")
@pytest.mark.parametrize(
    "name", [pytest.param(one.name, marks=sampled("training", 2)) for one in KIT.exercises]
)
def test_exercise_holds(name: str, sandbox: Sandbox) -> None:
    inspection = Inspection(KIT, KIT.find(name), sandbox, EFFORT, lambda: None)
    assert not list(inspection.findings())
    assert not inspection.new_digest


def test_nothing_that_its_exercises_share_belongs_to_none() -> None:
    assert not list(kit_findings(KIT))


def test_suites_are_short_and_mistakes_many() -> None:
    assert len(KIT.exercises) == 6
    for one in KIT.exercises:
        assert len(one.suite.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
        assert one.mistakes.read_text(encoding="utf-8").count("[[wrong]]") >= 8


def test_folder_of_it_is_made_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["init", str(tmp_path / "mine"), "--kit", "training"]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert load_kit().name == "training"
    assert run_command(["list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    titles = [one.title for one in KIT.exercises]
    places = {line.index(title) for line in listed for title in titles if line.endswith(title)}
    assert len(places) == 1  # one below the other
    assert load_kit().find("lora").suite == installed_kit("training").find("lora").suite
    assert run_command(["init", str(tmp_path / "other"), "--kit", "nothing"]) == 2
    assert "no kit `nothing` is here" in capsys.readouterr().err
