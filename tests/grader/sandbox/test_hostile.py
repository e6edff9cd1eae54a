"""What is made to use up the grader itself costs it little, and its candidate the points."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.hiring.batch import tasks
from grader.hiring.candidates import as_submission, find_candidates
from grader.kit import installed_kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import read_submission, submission_of
from tests.support.hostile import ARCHIVES, SOURCES, own_cost

MEBIBYTES = 512  # above what this process took before
SECONDS = 60.0  # of processor time: six times what is asked, since this is no benchmark
OPTIONS = Options(seed=1, device="cpu", timeout=2.0, explain=Explain.CAUSE)


@pytest.mark.slow("as much as a submission may hold")
@pytest.mark.parametrize("name", SOURCES)
def test_source_costs_the_grader_little(name: str, sandbox: Sandbox) -> None:
    exercise = installed_kit().find("exercise1")
    grade(
        read_submission(exercise.solution), exercise, OPTIONS, sandbox
    )  # has what is kept for all
    submission = submission_of(Path("exercise1.py"), SOURCES[name]().encode())
    found = []
    seconds, memory = own_cost(lambda: found.append(grade(submission, exercise, OPTIONS, sandbox)))
    assert not found[0].solved
    assert memory < MEBIBYTES
    assert seconds < SECONDS


@pytest.mark.slow("as much as a submission may hold")
@pytest.mark.parametrize("name", ARCHIVES)
def test_archive_costs_the_grader_little(name: str, tmp_path: Path) -> None:
    (tmp_path / "ada.zip").write_bytes(ARCHIVES[name]())
    (tmp_path / "bob.py").write_text("bob")
    read = []

    def read_all() -> None:
        for task in tasks(find_candidates(tmp_path, ["exercise1"]), [1], ()):
            read.append(as_submission(task.exercise, task.file, task.data, task.problem))

    seconds, memory = own_cost(read_all)
    assert [one.source for one in read[1:]] == ["bob"]
    assert memory < MEBIBYTES
    assert seconds < SECONDS
