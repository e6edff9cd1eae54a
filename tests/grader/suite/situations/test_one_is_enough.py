"""Where one lost check is enough, no situation is tried after those that cost it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from torch import Tensor

from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Input, Sizes, Weights
from grader.suite.situations.agenda import SITUATIONS_PER_REQUEST
from grader.suite.situations.trial import judge_situations

RIGHT = "def twice(x):\n    return x + x\n"
WRONG = RIGHT.replace("x + x", "x * x")


def twice(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    return 2 * x


CONTRACT = Contract(
    entry="twice",
    sizes=(Sizes(B=2, T=3, C=5),),
    inputs={"x": Input("B T C")},
    outputs={"output": "B T C"},
    oracle=twice,
)


@pytest.mark.parametrize(
    ("source", "claims", "is_short"),
    [
        (RIGHT, {"matches_the_formula"}, False),
        (WRONG, {"matches_the_formula"}, True),
        (WRONG, {"handles_a_single_token"}, False),  # which this may not cost
    ],
)
def test_trial_ends_early_only_where_a_check_is_lost(
    source: str, claims: set[str], is_short: bool, begin: Callable[[str], Session]
) -> None:
    outcomes = []
    for is_one_enough in (False, True):
        harness = Harness(CONTRACT, begin(source), Draw(1), {}, frozenset(claims), seed=3)
        outcomes.append(judge_situations(harness, is_one_enough).outcomes)
    whole, short = outcomes
    assert (len(short) < len(whole)) == is_short
    assert any(one.aspect for one in short) == any(one.aspect for one in whole)
    assert len(short) <= 2 * SITUATIONS_PER_REQUEST or not is_short
