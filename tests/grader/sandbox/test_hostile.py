"""What is made to use up the grader itself costs it little, and its candidate the points."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader.hiring.batch import tasks
from grader.hiring.candidates import as_submission, find_candidates
from tests.support.drawing import some
from tests.support.hostile import ARCHIVES, SOURCES, hand_in, own_cost
from tests.support.paths import ROOT

MEBIBYTES = 512  # above what this process took before
SECONDS = 60.0  # of processor time: six times what is asked, since this is no benchmark


@some("hostile sources", 2)
@pytest.mark.slow("as much as a submission may hold, in a process of its own")
@pytest.mark.parametrize("name", SOURCES)
def test_source_costs_the_grader_little(name: str) -> None:
    """In a process of its own: what another test has left behind would be measured too."""
    command = [sys.executable, "-m", "tests.support.hostile", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, memory, solved = json.loads(done.stdout)
    assert not solved
    assert memory < MEBIBYTES
    assert seconds < SECONDS


@pytest.mark.slow("as much as a submission may hold")
@pytest.mark.parametrize("name", ARCHIVES)
def test_archive_costs_the_grader_little(name: str, tmp_path: Path) -> None:
    hand_in(name, tmp_path)
    (tmp_path / "bob.py").write_text("bob")
    read = []

    def read_all() -> None:
        for task in tasks(find_candidates(tmp_path, ["exercise1"]), [1], ()):
            read.append(as_submission(task.exercise, task.file, task.data, task.problem))

    seconds, memory = own_cost(read_all)
    assert [one.source for one in read[1:]] == ["bob"]
    assert memory < MEBIBYTES
    assert seconds < SECONDS
