"""Claims about dropout: on the weights, after the softmax, at the given rate, in training only.

Judged by the ratio of the weights in training to the submission's own weights in evaluation.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor

from grader.suite.compare import expect, expect_close, expect_finite
from grader.suite.marks import points
from grader.suite.subject import Module, Sizes, Trial, set_weights

SIZES = Sizes(B=7, T=11, C=67)  # few vectors of many features: an output reveals its weights
VISIBLE = 0.02  # weights below this are too small to be told from a dropped one
RATES = ((0.2, False), (0.7, False), (0.4, True))  # with or without a mask


def _train(module: Module, mode: bool = True) -> Module:
    return module.train(mode)  # type: ignore[union-attr]  # only a module has dropout


def _ratios(trial: Trial, module: Module, runs: int, masked: bool = False) -> list[Tensor]:
    """Weights in training over those in evaluation, of each run, where they are large enough."""
    x = trial.input(SIZES)
    mask = trial.draw.mask(SIZES.B, SIZES.T, SIZES.T) if masked else None
    _train(module, False)
    outs = [trial.run(module, x, mask, sizes=SIZES)]
    _train(module)
    outs += [trial.run(module, x, mask, sizes=SIZES) for _ in range(runs)]
    still, *dropped = trial.maps_of(module, x, outs, SIZES)
    sure = still > VISIBLE
    expect(bool(sure.any()), "expected positive attention weights in evaluation, got none")
    return [(weights / still)[sure] for weights in dropped]


@points(2)
def drops_weights(trial: Trial) -> None:
    """Each weight is either dropped or kept whole, anew in every call."""
    first, second = _ratios(trial, trial.module(SIZES, dropout_rate=0.4), runs=2)
    kept = first[first.abs() > 0.05]
    expect(kept.numel() > 0, "training: expected some weights to be kept, all are 0")
    expect(kept.numel() < first.numel(), "training: expected some weights to be 0, none is")
    low, high = float(kept.min()), float(kept.max())
    expect(
        high - low < 0.02,
        "training: expected each attention weight to be either 0 or its value in evaluation "
        f"times one number; that number goes from {low:.3g} to {high:.3g}",
    )
    expect(
        bool((first - second).abs().max() > 0.1),
        "training: expected other weights to be dropped in every call, two calls gave the same",
    )


@points(1)
def drops_each_weight_on_its_own(trial: Trial) -> None:
    """Whether one weight is dropped says nothing about another of its row, column or batch."""
    x = trial.input(SIZES)
    module = trial.module(SIZES, dropout_rate=0.5)
    outs = [trial.run(module, x, sizes=SIZES)]
    _train(module)
    outs += [trial.run(module, x, sizes=SIZES) for _ in range(4)]
    still, *runs = trial.maps_of(module, x, outs, SIZES)
    signs = torch.stack([torch.where(run.abs() > 0.05 * still, 1.0, -1.0) for run in runs])
    signs = signs * (still > VISIBLE)  # (runs, B, T, 1, S): +1 kept, -1 dropped, 0 unknown
    for dim, name in ((1, "sequences"), (2, "queries"), (-1, "keys")):
        together = (signs * signs.roll(1, dims=dim)).flatten()
        count = int((together != 0).sum())
        share = float(together.sum()) / max(count, 1)
        expect(
            abs(share) < 6 / sqrt(max(count, 1)),  # six standard deviations
            f"training: expected each weight to be dropped on its own, neighbours among "
            f"the {name} are dropped together (correlation {share:.2f})",
        )


@points(1)
def uses_its_rate(trial: Trial) -> None:
    """The share of dropped weights is the rate that was asked for."""
    for rate, masked in RATES:
        module = trial.module(SIZES, dropout_rate=rate)
        trial.module(SIZES, dropout_rate=0.9)  # another one beside it
        _expect_share(trial, module, rate, masked, f"dropout_rate={rate}")
    arguments = trial.subject.arguments(SIZES)
    arguments.pop("dropout_rate")
    module = trial.submission.create(trial.subject.name, **arguments)
    module.to(trial.device)
    set_weights(module, trial.weights(SIZES))
    _expect_share(trial, module, trial.subject.default_rate, False, "no dropout_rate given")
    module = trial.module(SIZES, dropout_rate=0.0)
    x = trial.input(SIZES)
    still = trial.run(module, x, sizes=SIZES)
    got = trial.run(_train(module), x, sizes=SIZES)
    expect_close(got, still, "training output with dropout_rate=0")


def _expect_share(trial: Trial, module: Module, rate: float, masked: bool, given: str) -> None:
    ratios = _ratios(trial, module, runs=4, masked=masked)
    dropped = (torch.cat(ratios).abs() < 0.05).double()
    bound = 6 * sqrt(rate * (1 - rate) / dropped.numel())  # six standard deviations
    under = " under a mask" if masked else ""
    expect(
        abs(float(dropped.mean()) - rate) < bound,
        f"training with {given}{under}: expected about {rate:.0%} of the weights to be dropped, "
        f"got {float(dropped.mean()):.0%} of {dropped.numel()}",
    )


@points(1)
def keeps_the_mean(trial: Trial) -> None:
    """Kept weights grow by 1/(1 - rate), so that the mean stays."""
    for rate, masked in RATES:
        (ratios,) = _ratios(trial, trial.module(SIZES, dropout_rate=rate), 1, masked)
        kept = ratios[ratios.abs() > 0.05]
        mean = float(kept.mean()) if kept.numel() else 0.0
        expect(
            abs(mean * (1 - rate) - 1) < 0.01,
            f"training with dropout_rate={rate}: expected the kept weights × {1 / (1 - rate):.3g}, "
            f"got × {mean:.3g}",
        )


@points(2)
def evaluation_is_deterministic(trial: Trial) -> None:
    """In evaluation the same input gives the same output, before and after training."""
    module = trial.module(dropout_rate=0.6)
    x = trial.input()
    mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
    for given in (None, mask):
        still = trial.run(module, x, given)
        expect_close(trial.run(module, x, given), still, "output in evaluation, once more")
        trial.run(_train(module), x, given)
        _train(module, False)
        expect_close(trial.run(module, x, given), still, "output in evaluation, after training")


@points(1)
def hidden_keys_stay_hidden_in_training(trial: Trial) -> None:
    """0 · -inf is NaN: dropout belongs after the softmax, the mask before."""
    module = _train(trial.module(SIZES, dropout_rate=0.5))
    x = trial.input(SIZES)
    mask = trial.draw.mask(SIZES.B, SIZES.T, SIZES.T)
    out = trial.run(module, x, mask, sizes=SIZES)
    expect_finite(out, "training output under a mask")
    hidden = trial.map_of(module, x, out, SIZES).squeeze(-2)[mask.cpu() == 0]
    expect_close(hidden, torch.zeros_like(hidden), "training: weights of hidden keys", 1e-3)
