"""An author's own letters vary as all sizes do, also where an input has but one axis."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from grader.records import CheckResult
from grader.sandbox.process import Sandbox
from grader.suite import Contract, Sizes
from grader.suite.situations.lengths import ARGUMENT_LEVELS, own_letters
from tests.support.checked import checks_of

SUITE = """
from grader.suite import Contract, Input, Sizes, claims

contract = Contract(
    entry="{entry}",
    sizes=({sizes},),
    inputs={{"x": Input("{shape}")}},
    outputs={{"output": "{shape}"}},
    oracle=lambda weights, sizes, x: {oracle},
    {more}
)
test_formula = claims.matches_the_formula
test_float64 = claims.computes_in_float64
test_layout = claims.handles_non_contiguous_input
test_gradients = claims.input_gradient_is_right
"""
SOFTMAX = SUITE.format(
    entry="share", sizes="Sizes(B=3, N=7)", shape="B N", oracle="x.softmax(-1)", more=""
)
SUMS = SUITE.format(entry="sums", sizes="Sizes(N=7)", shape="N", oracle="x.cumsum(-1)", more="")
# A letter that only an argument has; and one that means something else beside other letters.
POWERS = SUITE.format(
    entry="power", sizes="Sizes(T=5, E=7, K=3)", shape="T E", oracle="x**sizes.K",
    more="arguments=lambda sizes: {'k': sizes.K},",
)  # fmt: skip
LAYERS = SUITE.format(
    entry="repeated", sizes="Sizes(B=2, T=3, L=2)", shape="B T", oracle="x * sizes.L",
    more="arguments=lambda sizes: {'k': sizes.L}, fit=lambda sizes: sizes.replace(L=2),",
)  # fmt: skip
Lost = Callable[[str, str], list[CheckResult]]


@pytest.fixture
def lost(tmp_path: Path, sandbox: Sandbox) -> Lost:
    """The checks of a suite that an answer loses."""

    def grade(suite: str, source: str) -> list[CheckResult]:
        file = tmp_path / "suite.py"
        file.write_text(suite, encoding="utf-8")
        return [one for one in checks_of(file, source, sandbox) if one.is_lost]

    return grade


@pytest.mark.slow("three arrays of situations are made anew")
def test_right_answers_lose_nothing(lost: Lost) -> None:
    assert not lost(SOFTMAX, "def share(x):\n    return x.softmax(-1)\n")
    assert not lost(SUMS, "def sums(x):\n    return x.cumsum(0)\n")
    assert not lost(POWERS, "def power(x, k):\n    return x.pow(k)\n")


def test_what_is_wrong_at_some_sizes_alone_is_told_by_the_letter(lost: Lost) -> None:
    source = "def share(x):\n    assert x.size(1) < 10\n    return x.softmax(-1)\n"
    said = {one.name: one.message for one in lost(SOFTMAX, source)}["test_formula"]
    assert re.search(r"an exception in every one with N of [12]\d or more", said), said


def test_a_single_axis_may_lie_apart_in_memory(lost: Lost) -> None:
    source = "def sums(x):\n    return x.as_strided(x.shape, (1,)).cumsum(0)\n"
    assert "test_layout" in {one.name for one in lost(SUMS, source)}


def test_letter_of_an_argument_varies(lost: Lost) -> None:
    source = "def power(x, k):\n    return x**3\n"
    assert "test_formula" in {one.name for one in lost(POWERS, source)}
    source = "def power(x, k):\n    assert k != 1\n    return x**k\n"
    said = {one.name: one.message for one in lost(POWERS, source)}["test_formula"]
    assert "an exception in every one with K = 1" in said


def test_letter_of_a_tensor_among_the_arguments_is_found() -> None:
    contract = Contract(
        entry="f",
        oracle=lambda weights, sizes, x: x,
        sizes=(Sizes(B=2, T=3, C=5, K=2, M=7),),
        arguments=lambda sizes: {"rates": torch.arange(sizes.K), "width": sizes.C},
    )
    assert own_letters(contract) == {"K": ARGUMENT_LEVELS}


def test_letter_without_the_one_that_it_goes_with_varies(lost: Lost) -> None:
    source = "def power(x, k):\n    assert x.size(1) == 7\n    return x**k\n"
    assert "test_formula" in {one.name for one in lost(POWERS, source)}


def test_letter_that_fit_keeps_does_not_vary(lost: Lost) -> None:
    assert not lost(LAYERS, "def repeated(x, k):\n    assert k == 2\n    return x + x\n")
