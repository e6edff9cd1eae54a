"""What is made to use up the grader itself costs it little, and its candidate the points."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.hiring.batch import remaining_tasks
from grader.hiring.candidates import find_candidates
from grader.hiring.handed import as_submission
from grader.kit import installed_kit
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.drawing import sampled
from tests.support.hostile import ARCHIVES, FORGES_ANSWERS, SOURCES, hand_in, own_cost
from tests.support.paths import ROOT

MEBIBYTES = 512  # above what this process took before
SECONDS = 60.0  # of processor time: six times what is asked, since this is no benchmark


@sampled("hostile sources", 1)
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
        for task in remaining_tasks(find_candidates(tmp_path, ["exercise1"]), [1], ()):
            read.append(as_submission(task.exercise, task.file, task.data, task.problem))

    seconds, memory = own_cost(read_all)
    assert [one.source for one in read[1:]] == ["bob"]
    assert memory < MEBIBYTES
    assert seconds < SECONDS


def test_what_a_worker_says_is_left_is_cut(sandbox: Sandbox) -> None:
    said = "def change(answer, sent):\n    if answer['is'] == 'called':\n"
    said += "        answer['side_effects'] = ['a' * 40_000] * 2\n    return sent\n"
    exercise = installed_kit().find("exercise1")
    right = "q, k, v = self.q(x), self.k(x), self.v(x)\n"
    right += "        return (q @ k.mT / x.size(-1) ** 0.5).softmax(-1) @ v"
    submission = Submission(Path("exercise1.py"), said + FORGES_ANSWERS.format(right))
    report = grade(submission, exercise, Options(seed=1, device="cpu"), sandbox)
    longest = max((check.message for check in report.checks), key=len)
    assert "aaaa" in longest
    assert len(longest) < 2000
