"""An author's own letters vary as all sizes do, also where an input has but one axis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.records import CheckResult
from grader.sandbox.process import Sandbox
from tests.support.checked import checks_of

SUITE = """
from grader.suite import Contract, Input, Sizes, claims

contract = Contract(
    entry="{entry}",
    sizes=({sizes},),
    inputs={{"x": Input("{shape}")}},
    outputs={{"output": "{shape}"}},
    oracle=lambda weights, sizes, x: {oracle},
)
test_formula = claims.matches_the_formula
test_float64 = claims.computes_in_float64
test_layout = claims.handles_non_contiguous_input
test_gradients = claims.input_gradient_is_right
"""
SOFTMAX = SUITE.format(entry="share", sizes="Sizes(B=3, N=7)", shape="B N", oracle="x.softmax(-1)")
SUMS = SUITE.format(entry="sums", sizes="Sizes(N=7)", shape="N", oracle="x.cumsum(-1)")
Lost = Callable[[str, str], list[CheckResult]]


@pytest.fixture
def lost(tmp_path: Path, sandbox: Sandbox) -> Lost:
    """The checks of a suite that an answer loses."""

    def grade(suite: str, source: str) -> list[CheckResult]:
        file = tmp_path / "suite.py"
        file.write_text(suite, encoding="utf-8")
        return [one for one in checks_of(file, source, sandbox) if one.is_lost]

    return grade


@pytest.mark.slow("two arrays of situations are made anew")
def test_right_answers_lose_nothing(lost: Lost) -> None:
    assert not lost(SOFTMAX, "def share(x):\n    return x.softmax(-1)\n")
    assert not lost(SUMS, "def sums(x):\n    return x.cumsum(0)\n")


def test_what_is_wrong_at_some_sizes_alone_is_told_by_the_letter(lost: Lost) -> None:
    source = "def share(x):\n    assert x.size(1) < 10\n    return x.softmax(-1)\n"
    said = {one.name: one.message for one in lost(SOFTMAX, source)}["test_formula"]
    assert "an exception in every one with N of 10 or more" in said


def test_a_single_axis_may_lie_apart_in_memory(lost: Lost) -> None:
    source = "def sums(x):\n    return x.as_strided(x.shape, (1,)).cumsum(0)\n"
    assert "test_layout" in {one.name for one in lost(SUMS, source)}
