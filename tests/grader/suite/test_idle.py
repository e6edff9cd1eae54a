"""Who gives the same whatever is asked does nothing, also where nothing has a place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Input, Sizes
from grader.suite.idle import why_idle

WHOLE = Contract(
    entry="f",
    sizes=(Sizes(N=3, K=5),),
    inputs={"x": Input("N K")},
    outputs={"output": ""},
    oracle=lambda weights, sizes, x: x.square().sum(),
)
BY_ITSELF = Contract(
    entry="f", sizes=(Sizes(B=2, T=5, C=3),), oracle=lambda weights, sizes, x: x.square()
)
APART = Contract(
    entry="f",
    sizes=(Sizes(N=3, K=5),),
    inputs={"x": Input("N K")},
    outputs={"output": "N"},
    oracle=lambda weights, sizes, x: x.square().sum(-1),
)


@pytest.mark.parametrize(
    ("contract", "body", "says"),
    [
        (WHOLE, "x.square().sum()", ""),
        (WHOLE, "x.sum() * 0", "no output depends on its input"),
        (WHOLE, "x.sum() * float('nan')", "no output depends on its input"),
        (WHOLE, "x.sum()", ""),  # wrong, and does something
        (APART, "x.square().sum(-1)", ""),
        (APART, "x.sum(-1) * 0 + 1", "no output depends on its input"),
        (BY_ITSELF, "x.square()", ""),
        (BY_ITSELF, "x * 0 + 1", "no output depends on its input"),
    ],
)
def test_same_for_every_input_is_idle(
    begin: Callable[[str], Session], contract: Contract, body: str, says: str
) -> None:
    session = begin(f"def f(x):\n    return {body}\n")
    assert why_idle(Harness(contract, session, Draw(1), {})) == says


MIXED = Contract(
    entry="f", sizes=(Sizes(B=2, T=5, C=3),), oracle=lambda weights, sizes, x: x @ x.mT @ x
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("works", "says"),
    [
        ("T != 7", ""),
        ("T > 7", ""),
        ("T == 7", "no output depends on what stands at another place"),
        ("T > 9", "no output depends on what stands at another place"),
    ],
)
def test_what_works_at_most_lengths_is_idle_at_no_seed(
    begin: Callable[[str], Session], works: str, says: str, seed: int
) -> None:
    session = begin(
        f"def f(x):\n    T = x.size(1)\n    return x @ x.mT @ x if {works} else x.clone()\n"
    )
    assert why_idle(Harness(MIXED, session, Draw(seed), {}, seed=seed)) == says
