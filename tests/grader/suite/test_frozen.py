"""A contract with parameters that are not to learn: a low-rank adapter beside a frozen layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.records import Verdict
from grader.sandbox.process import Sandbox
from tests.support.checked import checks_of

SUITE = """
from grader.suite import Contract, Sizes, claims

contract = Contract(
    entry="Adapter",
    sizes=(Sizes(B=3, T=5, C=7, R=2), Sizes(B=2, T=3, C=5, R=3)),
    arguments=lambda sizes: {"width": sizes.C, "rank": sizes.R},
    parameters=lambda sizes: {
        "weight": (sizes.C, sizes.C), "down": (sizes.R, sizes.C), "up": (sizes.C, sizes.R),
    },
    frozen=("weight",),
    oracle=lambda weights, sizes, x: (
        x @ weights["weight"].mT + x @ weights["down"].mT @ weights["up"].mT
    ),
)
test_parameters = claims.has_its_parameters
test_values = claims.matches_the_formula
test_gradients = claims.parameter_gradients_are_right
test_gradient_of_x = claims.input_gradient_is_right
"""
RIGHT = """
import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width), requires_grad=False)
        self.down = nn.Parameter(torch.randn(rank, width))
        self.up = nn.Parameter(torch.zeros(width, rank))

    def forward(self, x):
        return x @ self.weight.mT + x @ self.down.mT @ self.up.mT
"""


@pytest.mark.parametrize(
    ("old", "new", "loses"),
    [
        ("", "", ""),
        (", requires_grad=False", "", "test_parameters"),
        ("torch.zeros(width, rank)", "torch.zeros(width, rank), False", "test_parameters"),
        ("self.down.mT @", "self.down.detach().mT @", "test_gradients"),
        ("x @ self.weight", "x.detach() @ self.weight", "test_gradient_of_x"),
    ],
)
def test_only_what_is_not_frozen_learns(
    old: str, new: str, loses: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    suite = tmp_path / "test_adapter.py"
    suite.write_text(SUITE, encoding="utf-8")
    checks = checks_of(suite, RIGHT.replace(old, new, 1) if old else RIGHT, sandbox)
    lost = [check.name for check in checks if check.verdict is not Verdict.PASS]
    assert (loses in lost) if loses else not lost, [(one.name, one.message) for one in checks]
