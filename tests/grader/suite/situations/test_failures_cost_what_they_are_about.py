"""What ends the worker, or hangs, costs the checks that it is about, and no grading."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.records import Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from grader.wire.levels import Limits
from tests.grader.suite.situations.test_slow_answers import MISTAKES

TIMEOUT = 2.0  # seconds for a check; our solution's take a tenth
# What ends a worker, and what its check is called then.
ENDS = {
    "hang": ("while True: pass", Verdict.TIMEOUT),
    "exit": ("__import__('os')._exit(1)", Verdict.ERROR),
    "crash in C": ("__import__('ctypes').string_at(0)", Verdict.ERROR),
    "too much memory": ("__import__('numpy').ones(1 << 40)", Verdict.ERROR),
    "stack overflow": ("f = lambda: f(); __import__('sys').setrecursionlimit(1 << 30); f()", None),
}
# Where: a condition in `forward`, and how many of the 25 points may be lost by it.
WHERE = {
    "in one situation": ("x.dtype == torch.bfloat16 and x.size(-2) == 1", 1),
    "where T > 100": ("x.size(-2) > 100", 1),
}


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    return installed_kit().find("exercise2")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A stack that overflows fills all the memory that there is."""
    with Sandbox(limits=Limits(memory=512)) as made:
        yield made


Grade = Callable[..., Report]


@pytest.fixture
def graded(exercise: Exercise, sandbox: Sandbox) -> Grade:
    def grade_one(source: str, graded_as: Exercise = exercise) -> Report:
        options = Options(seed=1, device="cpu", timeout=TIMEOUT)
        return grade(Submission(Path("mine.py"), source), graded_as, options, sandbox)

    return grade_one


def in_forward(exercise: Exercise, line: str, condition: str = "True") -> str:
    """Our solution, with a line that its `forward` begins with where a condition holds."""
    source = exercise.solution.read_text(encoding="utf-8")
    found = re.search(r" +def forward\(.*?\"\"\".*?\"\"\"\n", source, re.DOTALL)
    assert found is not None
    new = f"        import torch\n        if {condition}:\n            {line}\n"
    return source[: found.end()] + new + source[found.end() :]


def in_the_constructor(exercise: Exercise, line: str) -> str:
    source = exercise.solution.read_text(encoding="utf-8")
    begin = "        super().__init__()\n"
    assert source.count(begin) == 1
    return source.replace(begin, f"{begin}        {line}\n")


@pytest.mark.slow("what ends a worker is tried again, one by one")
@pytest.mark.parametrize(
    "line", ["while True: pass", "__import__('os')._exit(1)", "raise KeyError"]
)
def test_no_long_sequence_costs_that_alone(line: str, graded: Grade) -> None:
    dropout = installed_kit().find("exercise3")  # whose own checks ask for long ones as well
    report = graded(in_forward(dropout, line, "x.size(-2) > 100"), dropout)
    lost = [check.name for check in report.checks if check.verdict is not Verdict.PASS]
    assert lost == ["test_long_sequence"]


@pytest.mark.slow("what ends a worker is tried again, one by one")
@pytest.mark.parametrize(("end", "where"), [*itertools.product(ENDS, WHERE)])
def test_what_ends_in_some_situations_costs_what_is_about_them(
    end: str, where: str, exercise: Exercise, graded: Grade
) -> None:
    (line, verdict), (condition, points) = ENDS[end], WHERE[where]
    report = graded(in_forward(exercise, line, condition))
    lost = [check for check in report.checks if check.verdict is not Verdict.PASS]
    assert 1 <= sum(check.points for check in lost) <= points, lost
    assert verdict is None or {check.verdict for check in lost} == {verdict}
    told = [check.message for check in lost if "right in" in check.message]
    assert told or end == "too much memory"  # an exception like any other: the check itself met it


@pytest.mark.slow("what ends a worker is tried again, one by one")
@pytest.mark.parametrize("end", ENDS)
def test_what_always_ends_earns_nothing_beyond_structure(
    end: str, exercise: Exercise, graded: Grade
) -> None:
    line, verdict = ENDS[end]
    report = graded(in_forward(exercise, line))
    assert report.earned <= 1
    lost = [check for check in report.checks if check.verdict is not Verdict.PASS]
    assert verdict is None or {check.verdict for check in lost} == {verdict}


@pytest.mark.slow("what ends a worker is tried again, one by one")
@pytest.mark.parametrize("end", ENDS)
def test_what_ends_in_the_constructor_earns_nothing(
    end: str, exercise: Exercise, graded: Grade
) -> None:
    assert graded(in_the_constructor(exercise, ENDS[end][0])).earned == 0


# Ends the process in a quarter of all calls, by what x is.
DIES = """if x.device.type == 'cpu':
                import hashlib, os
                if hashlib.sha256(x.detach().double().numpy().tobytes()).digest()[0] % 4 == 0:
                    os._exit(1)"""


@pytest.mark.slow("what ends the process is tried again, one situation after the other")
@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(one, marks=() if place % 4 == 0 else pytest.mark.exhaustive)
        for place, one in enumerate(MISTAKES)
    ],
)
def test_dying_does_not_pay(mistake: str, exercise: Exercise, graded: Grade) -> None:
    source = exercise.solution.read_text(encoding="utf-8")
    wrong = graded(source.replace(*MISTAKES[mistake]))
    dying = graded(in_forward(exercise, DIES).replace(*MISTAKES[mistake]))
    assert dying.earned <= wrong.earned < wrong.possible


@pytest.mark.slow("what ends a worker is tried again, one by one")
def test_where_it_hangs_is_said(exercise: Exercise, graded: Grade) -> None:
    report = graded(in_forward(exercise, "while True: pass", "x.size(-2) > 100"))
    (told,) = (check for check in report.checks if check.name == "test_long_sequence")
    assert "took too long and was stopped at `while True: pass` in `forward`, line " in told.message
    assert "; takes too long in every one with T of " in told.message
    assert f"it had {TIMEOUT:.3g} s" in told.message
