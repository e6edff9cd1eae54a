"""Measure what hostile files cost the trusted side: processor time, and memory above its start.

Tries every file of ``tests/attacks``, and the sources and archives that
``tests/support/hostile.py`` makes. The limit for each is 10 s and 512 MiB.

Usage: python -m benchmarks.hostile [PART OF A NAME]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch

from grader.grading import Options, grade
from grader.hiring.batch import remaining_tasks
from grader.hiring.candidates import find_candidates
from grader.hiring.handed import as_submission
from grader.kit import Exercise, installed_kit, load_kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from grader.wire.levels import Limits
from tests.support.attacking import attack
from tests.support.hostile import ARCHIVES, SOURCES, hand_in, own_cost

TESTS = Path(__file__).parents[1] / "tests"
MAX_TIME_S, MAX_MEMORY_MIB = 10.0, 512
OPTIONS = Options(seed=1, device="cpu", timeout=5.0, explain=Explain.CAUSE)


Action = Callable[[], object]


def hostile_gradings(sandbox: Sandbox) -> Iterator[tuple[str, Callable[[], Action]]]:
    """Yield the name of every hostile file, and a function that prepares its grading."""
    double = load_kit(TESTS / "support" / "tiny_kit").find("double")
    layer = installed_kit().find("exercise1")

    def graded(source: str, exercise: Exercise) -> Action:
        submission = Submission(Path("hostile.py"), source)
        return lambda: grade(submission, exercise, OPTIONS, sandbox)

    def handed_in(name: str) -> Action:
        folder = tempfile.TemporaryDirectory()
        hand_in(name, Path(folder.name))

        def grade_all() -> None:
            with folder:
                for task in remaining_tasks(
                    find_candidates(Path(folder.name), ["exercise1"]), [1], ()
                ):
                    submission = as_submission(task.exercise, task.file, task.data, task.problem)
                    grade(submission, layer, OPTIONS, sandbox)

        return grade_all

    for path in sorted((TESTS / "attacks").glob("*.py")):
        yield path.stem, partial(graded, attack(path, _targets(sandbox)).source, double)
    for name, make in SOURCES.items():
        yield name, lambda make=make: graded(make(), layer)
    for name in ARCHIVES:
        yield name, partial(handed_in, name)


def _targets(sandbox: Sandbox) -> dict[str, object]:
    """Return what an attack would have to guess: made up, but for two process ids of ours."""
    nowhere = dict.fromkeys(("suite", "solution", "sibling", "folder", "datagrams", "unix"), "/x")
    numbers = {"tcp": 9, "udp": 9, "abstract": "\0x", "victim": 1 << 22, "grader": os.getpid()}
    return {**nowhere, **numbers, "zygote": sandbox._zygote.pid}


def main(part: str = "") -> int:
    """Print every figure; return 1 if one is over its limit, else 0."""
    torch.set_num_threads(1)
    over = 0
    with Sandbox(limits=Limits(memory=512, cpu=30)) as sandbox:
        assert sandbox.isolation != "process", "these files are not for a machine without walls"
        for name, make in hostile_gradings(sandbox):
            if part in name:
                seconds, memory = own_cost(make())
                worse = seconds > MAX_TIME_S or memory > MAX_MEMORY_MIB
                over += worse
                print(
                    f"{seconds:6.2f} s {memory:6.0f} MiB {'!' if worse else ' '} {name}", flush=True
                )
    print(f"{over} over {MAX_TIME_S:g} s or {MAX_MEMORY_MIB} MiB, at level {sandbox.isolation}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
