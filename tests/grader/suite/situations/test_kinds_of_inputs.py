"""Inputs of kinds of their own, which a call may leave out; arguments of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from grader.attention import AttentionContract, X
from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Input, Sizes, Weights, claims
from grader.suite.compare import CheckFailed
from grader.suite.situations.factors import ABSENT
from grader.suite.situations.inputs import GIVEN_LEVELS
from grader.suite.situations.places import situations_of
from grader.suite.situations.trial import judge_situations

Begin = Callable[[str], Session]


def shifted(weights: Weights, sizes: Sizes, x: Tensor, by: Tensor | None = None) -> Tensor:
    return x if by is None else x + by[..., None]


def few(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    return draw.permutation(300)[: shape[-1]]


def of_each(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    return torch.stack([few(draw, shape, sizes) for _ in range(shape[0])])


SHIFT = Input("B T", few, differentiable=False, optional=True, kinds={"all": few, "each": of_each})
CONTRACT = Contract(
    entry="shift",
    sizes=(Sizes(B=2, T=3, D=4),),
    inputs={"x": Input("B T D"), "by": SHIFT},
    outputs={"output": "B T D"},
    oracle=shifted,
)
SOURCE = "def shift(x, by=None):\n    return x if by is None else x + by[..., None].to(x.dtype)\n"


def test_kinds_meet_only_where_the_input_is_given(begin: Begin) -> None:
    harness = Harness(CONTRACT, begin(SOURCE), Draw(1), {}, seed=3)
    seen = set()
    for one in situations_of(harness):
        given = one.row["by given"] != GIVEN_LEVELS[0]
        assert given == (one.row["by"] != ABSENT) == (one.inputs["by"] is not None)
        assert one.earlier_inputs["by"] is not None  # what came before may differ in all
        if given:
            value, other = one.inputs["by"], one.other_inputs["by"]
            assert value is not None
            assert other is not None
            assert value.shape == other.shape
            seen.add(bool((value != other).any()))
    assert True in seen


def test_what_is_kept_of_another_call_shows(begin: Begin) -> None:
    """By an input of its own kind, which differs from call to call."""
    keeps = "KEPT = {}\n" + SOURCE.replace(
        "    return", "    by = by if by is None else KEPT.setdefault(by.shape, by)\n    return"
    )
    right, wrong = (
        judge_situations(Harness(CONTRACT, begin(source), Draw(1), {}, seed=3))
        for source in (SOURCE, keeps)
    )
    assert not right.failures
    assert wrong.failures


def test_function_is_given_its_arguments_by_name(begin: Begin) -> None:
    source = "def shift(x, by=None, times=1.0):\n    return x * times\n"
    session = begin(source)
    for times in (1.0, 2.5):
        contract = replace(
            CONTRACT,
            arguments=lambda sizes, times=times: {"times": times},
            oracle=lambda weights, sizes, x, times=times: x * times,
        )
        harness = Harness(contract, session, Draw(1), {})
        call = harness.module().call({"x": torch.ones(2, 3, 4)})
        harness.ask()
        assert torch.equal(call.out.double(), call.expected)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise ValueError('4 is too many')", ""),
        ("raise ValueError('too many')", "expected 4 in the message"),
        ("raise TypeError('4')", "expected ValueError, got TypeError"),
        ("return x", "no exception was raised"),
    ],
)
def test_call_that_is_refused(begin: Begin, body: str, says: str) -> None:
    session = begin(f"def shift(x, by=None):\n    {body}\n")
    harness = Harness(CONTRACT, session, Draw(1), {})
    inputs = {"x": torch.ones(2, 3, 4)}
    if not says:
        claims.call_raises(harness, "ValueError", inputs, 4)
        return
    with pytest.raises(CheckFailed, match=says):
        claims.call_raises(harness, "ValueError", inputs, 4)


def test_attention_with_other_inputs_has_the_situations_of_any_contract() -> None:
    plain = AttentionContract(entry="A", oracle=shifted, sizes=(Sizes(B=2, T=3, C=4),))
    assert plain.situation_kind is not None
    assert replace(plain, inputs={"x": X, "by": SHIFT}).situation_kind is None


def test_revealing_sizes_fit_one_another() -> None:
    contract = AttentionContract(
        entry="A",
        oracle=shifted,
        sizes=(Sizes(B=2, T=3, C=4),),
        fit=lambda sizes: sizes.replace(C=sizes.C + sizes.C % 2),
    )
    assert contract.revealing(contract.sizes[0]).C % 2 == 0


def test_claims_of_another_contract_are_those_that_are_told(begin: Begin) -> None:
    harness = Harness(CONTRACT, begin(SOURCE), Draw(1), {}, frozenset({"a"}))
    assert harness.of(CONTRACT).claims == {"a"}
    assert harness.of(CONTRACT, frozenset()).claims == frozenset()
