"""Claims about single steps: scale, softmax, what is mixed."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.suite.compare import expect, expect_close, expect_finite
from grader.suite.marks import points
from grader.suite.subject import Sizes
from grader.suite.trial import Trial

MAP_TOLERANCE = 1e-3
SURE = 1e-3  # weights below this are too small for their logarithm


def reveal(trial: Trial) -> list[tuple[Sizes, Tensor, Tensor]]:
    """At two sizes: the weights (B, T, H, T) that the submission mixes with, and the right ones."""
    every = [sizes.revealing() for sizes in trial.subject.sizes[:2]]
    calls = [trial.module(sizes).call(trial.input(sizes)) for sizes in every]
    found = []
    for call in calls:
        weights, right = call.maps(call.out, call.expected)
        found.append((call.module.sizes, weights, right))
    return found


@points(2)
def scores_are_scaled(trial: Trial) -> None:
    """Dot products grow with the number of features; the right scale keeps softmax learning.

    The ratios of one query's weights give back the differences of its scores, and so the number
    that the products q·k were multiplied by.
    """
    for sizes, weights, right in trial.shared(reveal):
        sure = right > SURE
        least = float(weights[sure].min())
        expect(least > -SURE, f"expected positive attention weights, got {least:.4g}")
        mine, wanted = _centred(weights, sure), _centred(right, sure)
        scale = trial.subject.scale(sizes)
        ratio = float((mine * wanted).sum() / wanted.square().sum())
        expect(
            abs(ratio - 1) < 0.01,
            f"expected scores of q·k × {scale:.4g}, got about q·k × {ratio * scale:.4g} "
            f"(B={sizes.B}, T={sizes.T}, C={sizes.C}, H={sizes.H})",
        )
        expect_close(mine, wanted, "logarithms of the attention weights", 0.02)


def _centred(weights: Tensor, sure: Tensor) -> Tensor:
    """Logarithms around the mean of their row; 0 where a weight is too small to be sure of."""
    logs = torch.where(sure, weights.clamp(min=1e-6), 1.0).log()  # below lies rounding
    mean = logs.sum(-1, keepdim=True) / sure.sum(-1, keepdim=True)
    return torch.where(sure, logs - mean, 0.0)


@points(2)
def weights_sum_to_one(trial: Trial) -> None:
    """Each query shares out exactly 1 over the keys; a softmax over another axis does not."""
    (_, weights, _), *_ = trial.shared(reveal)
    sums = weights.sum(-1)
    expect_close(sums, torch.ones_like(sums), "sum of each query's weights", MAP_TOLERANCE)


@points(2)
def attends_all_alike_without_queries(trial: Trial) -> None:
    """With all queries at zero, the output is the mean of the values and of nothing else."""
    call = trial.levelled().call(trial.input())
    expect_close(call.out, call.expected, "output at uniform weights")


@points(1)
def large_scores_stay_finite(trial: Trial) -> None:
    """Exp overflows at 89 in float32: a softmax subtracts the largest score first."""
    x = trial.input()
    usual, large = trial.module().calls([x, x * 60])
    gap = usual.out.double().cpu() - usual.expected
    expect_finite(large.out, "output for large scores")
    if float(gap.abs().max()) < 1e-3:  # the formula is right, so it has to be right here too
        expect_close(large.out, large.expected, "output for large scores", 2e-2)
