"""Claims about single steps: scale, softmax, mixing."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.attention.contract import AttentionContract
from grader.attention.maps import recover_attention
from grader.attention.observe import with_zero_queries
from grader.suite.calls import PlannedCall
from grader.suite.compare import expect, expect_all_close, expect_close, expect_finite, fail
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.readable import Drawn, readable
from grader.suite.situations.implied import backed_by_situations
from grader.suite.sizes import Sizes

MAP_TOLERANCE = 1e-3
SCORE_TOLERANCE = 0.05  # relative error: weights below 0.01 give a score back only roughly
MIN_SURE_WEIGHT = 1e-3  # less is too small for its logarithm
LARGE = 200  # times x: many scores are below -1e4, with which a hidden one may be filled


def reveal_weights(harness: Harness) -> list[tuple[Sizes, Tensor, Tensor]]:
    """Return, at two sizes, the submission's attention weights (B, T, H, T) and the right ones."""
    contract: Any = harness.contract

    def read(call: PlannedCall, out: Tensor) -> None:
        weights, right = recover_attention(call, out, call.expected)
        _expect_scaled(contract, call.sizes, weights, right)
        _expect_sums_of_one(weights)

    calls = []
    for sizes in map(contract.revealing, contract.sizes[:2]):
        draw = partial(_draw, harness, sizes)
        drawn = readable(harness, draw, read)
        calls.append(harness.module(drawn.sizes, drawn.weights).call(drawn.inputs))
    harness.ask()
    found = []
    for call in calls:
        weights, right = recover_attention(call, call.out, call.expected)
        found.append((call.sizes, weights, right))
    return found


def _draw(harness: Harness, sizes: Sizes) -> Drawn:
    return Drawn(sizes, harness.weights(sizes), harness.inputs(sizes))


@points(2)
@needs(AttentionContract, "value_vectors")
@backed_by_situations
def scores_are_scaled(harness: Harness) -> None:
    """Dot products grow with the number of features; the right scale keeps the softmax learning.

    The ratios of one query's weights give back the differences of its scores and, without what is
    added to them, the number that the products q·k were multiplied by.

    Example:
        test_scores_are_scaled = attention.scores_are_scaled
    """
    for sizes, weights, right in harness.shared(reveal_weights):
        _expect_scaled(harness.contract, sizes, weights, right)


def _expect_scaled(contract: Any, sizes: Sizes, weights: Tensor, right: Tensor) -> None:
    sure = right > MIN_SURE_WEIGHT
    least = float(weights[sure].min())
    is_mixture = least > -MIN_SURE_WEIGHT
    expect(is_mixture, f"no mixture of the values by weights above 0 gives the output: {least:.4g}")
    added = _score_biases(contract, sizes)
    mine, wanted = (_centred_log_weights(one, sure, added) for one in (weights, right))
    scale = contract.scale(sizes)
    ratio = float((mine * wanted).sum() / wanted.square().sum())
    if abs(ratio - 1) >= 0.01:
        factor = _score_factor(weights, right, added)
        got = (
            "weights that show no factor of q·k"
            if factor is None
            else f"q·k × {factor * scale:.4g}"
        )
        if factor is not None and abs(factor - 1) < 0.01:
            lacking = int((sure & (weights <= MIN_SURE_WEIGHT)).sum())
            got = f"these, but no weight in {lacking} places of {int(sure.sum())}"
        fail(f"expected scores of q·k × {scale:.4g}, got {got} ({sizes})")
    expect_close(mine, wanted, "logarithms of the attention weights", 0.02)


def _score_biases(contract: Any, sizes: Sizes) -> Tensor:
    """Return what right scores add to the products q·k, broadcastable to (B, T, H, T)."""
    return torch.zeros(()) if contract.biases is None else contract.biases(sizes).transpose(0, 1)


def _score_factor(weights: Tensor, right: Tensor, added: Tensor) -> float | None:
    """Return the factor by which scores are too large; None where more than that is wrong."""
    both = (right > MIN_SURE_WEIGHT) & (weights > MIN_SURE_WEIGHT)
    both &= both.sum(-1, keepdim=True) > 2  # one difference alone fits any factor
    mine, wanted = (_centred_log_weights(one, both, added) for one in (weights, right))
    if not bool(both.any()):
        return None
    factor = float((mine * wanted).sum() / wanted.square().sum())
    fits = (mine - factor * wanted).abs() <= SCORE_TOLERANCE * mine.abs().clamp(min=1.0)
    return factor if bool(fits.all()) else None


def _centred_log_weights(weights: Tensor, sure: Tensor, added: Tensor) -> Tensor:
    """Return log-weights minus ``added``, then minus their mean over the keys of each query.

    Where ``sure`` is False, the result is 0.
    """
    logs = torch.where(sure, weights.clamp(min=1e-6).log() - added, 0.0)  # less is rounding
    mean = logs.sum(-1, keepdim=True) / sure.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(sure, logs - mean, 0.0)


@points(2)
@needs(AttentionContract, "value_vectors")
@backed_by_situations
def weights_sum_to_one(harness: Harness) -> None:
    """A query's weights over the keys sum to exactly 1; with another softmax axis they don't.

    Example:
        test_weights_sum_to_one = attention.weights_sum_to_one
    """
    (_, weights, _), *_ = harness.shared(reveal_weights)
    _expect_sums_of_one(weights)


def _expect_sums_of_one(weights: Tensor) -> None:
    sums = weights.sum(-1)
    expect_close(sums, torch.ones_like(sums), "sum of each query's weights", MAP_TOLERANCE)


@points(2)
@needs(AttentionContract, "zero_queries")
@backed_by_situations
def attends_all_alike_without_queries(harness: Harness) -> None:
    """With all queries at zero, the output is the mean of the values and of nothing else.

    Example:
        test_values_are_mixed_not_the_input = attention.attends_all_alike_without_queries
    """
    call = with_zero_queries(harness).call(harness.inputs())
    harness.ask()
    expect_all_close(call.outs, call.right_outputs, "at uniform weights")


@points(1)
@needs(AttentionContract, inputs=("x",))
@backed_by_situations
def large_scores_stay_finite(harness: Harness) -> None:
    """Exp overflows at 89 in float32: a softmax subtracts the largest score first.

    Example:
        test_large_scores_stay_finite = attention.large_scores_stay_finite
    """
    inputs = harness.inputs()
    usual, large = harness.module().calls([inputs, {**inputs, "x": inputs["x"] * LARGE}])
    harness.ask()
    gap = usual.out.double().cpu() - usual.expected
    expect_finite(large.out, "output for large scores")
    if float(gap.abs().max()) < 1e-3:  # the formula is right, so it has to be right here too
        expect_close(large.out, large.expected, "output for large scores", 2e-2)
