"""What a constructor or a call refuses, and sizes of a situation that fit one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from grader.attention import AttentionContract
from grader.attention.affordable import with_few_scores
from grader.attention.situations import ATTENTION_SITUATIONS
from grader.sandbox.session import Session
from grader.suite import Draw, Harness, Sizes, claims
from grader.suite.claims.structure import expect_refusal
from grader.suite.compare import CheckFailed

SOURCE = """
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads, longest):
        super().__init__()
        self.longest = longest
        if width % heads:
            raise {error}

    def forward(self, x):
        assert x.size(1) <= self.longest
        return x
"""
LAYER = AttentionContract(
    entry="Layer",
    sizes=(Sizes(B=2, T=5, C=6, H=3, L=97),),
    arguments=lambda sizes: {"width": sizes.C, "heads": sizes.H, "longest": sizes.L},
    parameters=lambda sizes: {},
    oracle=lambda weights, sizes, x: x,
)
Begin = Callable[[str], Session]


def refusing(begin: Begin, error: str) -> Harness:
    return Harness(LAYER, begin(SOURCE.format(error=error)), Draw(1), {})


def test_what_is_refused_is_told_by_its_own_numbers(begin: Begin) -> None:
    harness = refusing(begin, "ValueError(f'{width} by {heads}')")
    claims.constructor_raises(harness, "ValueError", width=15, heads=4)
    with pytest.raises(CheckFailed, match="no exception was raised"):
        claims.constructor_raises(harness, "ValueError", width=15, heads=5)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("AssertionError(f'{width} by {heads}')", "expected ValueError, got AssertionError"),
        ("ValueError(f'{width} features')", "expected both numbers"),
        ("ValueError(f'{width}0 by {heads}.5')", "expected both numbers"),
        ("ValueError([*range(500)])", "expected both numbers"),
        # A class of the file's own: who catches Python's does not catch it.
        (
            "type('ValueError', (AssertionError,), {})(f'{width} by {heads}')",
            "expected ValueError, got ValueError",
        ),
    ],
)
def test_another_refusal_is_none(begin: Begin, error: str, says: str) -> None:
    with pytest.raises(CheckFailed, match=says):
        claims.constructor_raises(refusing(begin, error), "ValueError", width=17, heads=4)


@pytest.mark.parametrize("says", ["got -3 for 1", "1 of -3", "{width}x{heads}", "1--3"])
def test_number_below_zero_or_behind_a_hyphen_is_told(begin: Begin, says: str) -> None:
    harness = refusing(begin, f"ValueError(f'{says}')")
    claims.constructor_raises(harness, "ValueError", width=1, heads=-3)


def test_each_of_several_is_refused_by_itself(begin: Begin) -> None:
    harness = refusing(begin, "ValueError(f'{width} by {heads}')")
    every = [{"width": 15, "heads": 4}, {"width": 17, "heads": 3}]
    claims.constructor_raises_for_each(harness, "ValueError", every)
    every.insert(1, {"width": 15, "heads": 5})
    with pytest.raises(CheckFailed, match=r"heads=5.*no exception was raised"):
        claims.constructor_raises_for_each(harness, "ValueError", every)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (Sizes(B=3, T=9, S=2, C=14, H=7, G=7), Sizes(B=3, T=9, S=2, C=14, H=7, G=7)),
        (Sizes(B=3, T=90, S=10, C=72, H=36, G=12), Sizes(B=1, T=90, S=10, C=18, H=9, G=3)),
        (Sizes(B=5, T=30, S=10, C=32, H=4, G=2), Sizes(B=4, T=30, S=10, C=32, H=4, G=2)),
        (Sizes(B=2, T=40, S=10, C=68, H=34, G=1), Sizes(B=1, T=40, S=10, C=34, H=17, G=1)),
    ],
)
def test_many_scores_become_few(given: Sizes, wanted: Sizes) -> None:
    assert dict(with_few_scores(given, 20_000)) == dict(wanted)


def test_call_that_is_refused(begin: Begin) -> None:
    harness = refusing(begin, "ValueError")
    sizes = harness.sizes.replace(L=4)
    call = harness.module(sizes).call(harness.inputs(sizes))
    harness.ask()
    expect_refusal(lambda: call.result, "AssertionError", "a call with T = 5")
    with pytest.raises(CheckFailed, match="`a call with T = 5`: expected ValueError"):
        expect_refusal(lambda: call.result, "ValueError", "a call with T = 5")


@pytest.mark.parametrize("longest", [lambda sizes: sizes.T, lambda sizes: 2 * sizes.T])
def test_sizes_of_a_situation_fit_one_another(
    begin: Begin, longest: Callable[[Sizes], int]
) -> None:
    fitting = replace(LAYER, fit=lambda sizes: sizes.replace(L=longest(sizes)))
    harness = Harness(fitting, begin(""), Draw(1), {})
    plain = Harness(LAYER, begin(""), Draw(1), {})
    kind = ATTENTION_SITUATIONS
    factors = kind.model(fitting).factors
    for level in next(factor.levels for factor in factors if factor.name == "T"):
        row = {factor.name: factor.levels[0] for factor in factors} | {"T": level}
        sizes = kind.fill(harness, row, 0).sizes
        assert longest(sizes) == sizes.L
        assert kind.fill(plain, row, 0).sizes.L == 97
