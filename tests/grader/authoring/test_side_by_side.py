"""Several exercises are inspected at once, and what comes of each is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.checking import FAST_EFFORT
from grader.authoring.findings import Finding
from grader.authoring.layout import EXAMPLE_NAME, add_exercise, make_kit
from grader.authoring.side_by_side import Inspected, inspect_all
from grader.errors import GraderFault
from grader.kit import Kit, load_kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    """A kit of three exercises, of which nothing is graded, as no suite has a check."""
    make_kit(tmp_path)
    for name in ("second", "third"):
        add_exercise(tmp_path, name, "first")
    made = load_kit(tmp_path)
    for exercise in made.exercises:
        exercise.suite.write_text("", encoding="utf-8")
    return made


@pytest.mark.slow("two processes import torch")
def test_each_exercise_has_its_findings_and_an_end(kit: Kit) -> None:
    events = list(inspect_all(kit, kit.exercises, FAST_EFFORT, processes=2))
    found = [one.file.stem for one in events if isinstance(one, Finding)]
    done = {one.exercise: one.falls_short for one in events if isinstance(one, Inspected)}
    assert sorted(found) == ["test_second", "test_third", f"test_{EXAMPLE_NAME}"]
    assert done == dict.fromkeys((EXAMPLE_NAME, "second", "third"), True)


@pytest.mark.slow("a process imports torch")
def test_process_that_dies_is_told_with_its_exercise(kit: Kit) -> None:
    suite = kit.find("second").suite
    suite.write_text("import os\nos._exit(9)\n", encoding="utf-8")
    with pytest.raises(GraderFault, match="the process that checked `second` died"):
        list(inspect_all(kit, kit.exercises, FAST_EFFORT, processes=1))
