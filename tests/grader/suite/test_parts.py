"""Parts of a contract that have contracts of their own, and what else a contract may say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.kit import load_kit
from grader.records import Verdict
from grader.sandbox.process import Sandbox
from tests.support.checked import checks_of

SUITE = """
from dataclasses import replace

from torch import Tensor

from grader.suite import Contract, Sizes, Weights, claims


def scale(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    return x * weights["weight"] / 3


part = Contract(
    entry="Part",
    sizes=(Sizes(B=2, T=3, C=5),),
    arguments=lambda sizes: {"width": sizes.C, "third": None},
    default_arguments={"third": 3.0},
    parameters=lambda sizes: {"weight": (sizes.C,)},
    oracle=scale,
    unbatched=True,  # of such a contract of the kit the arrays are kept
    is_exact=lambda sizes: True,
    tried=False,
)
contract = replace(
    part,
    entry="Whole",
    parameters=lambda sizes: {"part.weight": (sizes.C,)},
    oracle=lambda weights, sizes, x: scale({"weight": weights["part.weight"]}, sizes, x),
    is_exact=lambda sizes: False,
    tried=True,
    parts=(part,),
)
test_parameters = claims.has_its_parameters
test_output = claims.matches_the_formula
"""
RIGHT = """
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, width, third=3.0):
        super().__init__()
        self.third = third
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.weight / self.third


class Whole(nn.Module):
    def __init__(self, width, third=3.0):
        super().__init__()
        self.part = Part(width, third)

    def forward(self, x):
        return x * self.part.weight / self.part.third
"""


@pytest.fixture
def graded(tmp_path: Path, sandbox: Sandbox) -> Callable[..., dict[str, str]]:
    """What a source with some text replaced loses, by check."""
    suite = tmp_path / "test_whole.py"
    suite.write_text(SUITE, encoding="utf-8")

    def grade_one(*edits: tuple[str, str]) -> dict[str, str]:
        source = RIGHT
        for old, new in edits:
            assert source.count(old) >= 1
            source = source.replace(old, new)
        checks = checks_of(suite, source, sandbox)
        return {check.name: check.message for check in checks if check.verdict is not Verdict.PASS}

    return grade_one


def test_right_whole_with_a_right_part_loses_nothing(graded: Callable[..., dict[str, str]]) -> None:
    assert graded() == {}


def test_part_that_is_wrong_alone_is_told_of(graded: Callable[..., dict[str, str]]) -> None:
    (message,) = graded(("x * self.weight /", "x * self.weight.exp() /")).values()
    assert "`Part` alone: right in " in message


def test_constant_rounded_to_float32_shows_where_float64_is_exact(
    graded: Callable[..., dict[str, str]],
) -> None:
    rounded = ("x * self.weight / self.third", "x * self.weight * torch.tensor(1 / self.third)")
    (message,) = graded(rounded).values()
    assert "`Part` alone" in message
    in_whole = ("self.part.weight / self.part.third", "self.part.weight * torch.tensor(1 / 3)")
    assert graded(in_whole) == {}


def test_default_that_is_missing_costs_one_check(graded: Callable[..., dict[str, str]]) -> None:
    lost = graded(("third=3.0", "third"))
    assert list(lost) == ["test_parameters"]
    assert "missing 1 required" in lost["test_parameters"]


def test_exercise_forbids_names_beside_those_of_its_kit(tmp_path: Path) -> None:
    (tmp_path / "exercises").mkdir()
    entry = 'track = "a"\ntitle = "A"\nentry_points = ["f"]\nhints = []\nsource = ""\nstub = ""\n'
    (tmp_path / "exercises" / "kit.toml").write_text(
        f'[kit]\nforbidden = ["one"]\n[[exercise]]\nname = "first"\n{entry}'
        f'[[exercise]]\nname = "second"\nforbidden = ["two"]\n{entry}',
        encoding="utf-8",
    )
    kit = load_kit(tmp_path)
    assert kit.find("first").forbidden == {"one"}
    assert kit.find("second").forbidden == {"one", "two"}
