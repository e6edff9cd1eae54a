"""What takes long is graded after all others, with as much time as `grade` gives it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.hiring import grading_process
from grader.hiring.grading_process import TaskGrader
from grader.hiring.tasks import PoolSettings, Task
from grader.kit import installed_kit
from tests.grader.hiring.test_batch import RIGHT, batch, rows
from tests.support.takehomes import write_record

BUSY = "import time\nuntil = time.process_time() + 7\nwhile time.process_time() < until: pass\n"


@pytest.mark.slow("what is slow takes long")
def test_a_slow_file_comes_last_and_earns_what_it_earns_alone(tmp_path: Path) -> None:
    handed, out = tmp_path / "handed", tmp_path / "results"
    for name, source in {"a slow one": BUSY + RIGHT, "b": RIGHT, "c": RIGHT}.items():
        (handed / name).mkdir(parents=True)
        (handed / name / "warmup1.py").write_text(source)
    write_record(out.with_name("sent.toml"), "warmup1")
    assert batch(handed, out, "--jobs", "1") == 0
    found = rows(out)
    assert {row["total percent"] for row in found.values()} == {"100.00"}


def test_patience_is_over_in_the_first_round_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading_process, "PUT_OFF_AFTER_CPU_S", 0.01)
    process = TaskGrader(PoolSettings("", "auto", "cpu", 10.0, 1024, 2000))
    task = Task("somebody", "warmup1", 5, "warmup1.py", RIGHT.encode())
    with process.sandbox:
        first = process.do(task)
        assert first.put_off
        assert first.report is None
        second = process.do(replace(task, was_put_off=True))
    assert second.report is not None
    assert second.report.solved
    assert second.source == installed_kit().find("warmup1").solution.read_text(encoding="utf-8")
