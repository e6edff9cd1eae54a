"""Claims about dropout: on the weights, after the softmax, at the given rate, in training only."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor

from grader.suite.compare import expect, expect_close, expect_finite
from grader.suite.marks import points
from grader.suite.subject import Module, Sizes, Trial

SIZES = Sizes(B=7, T=11, C=23)  # T < C: an output reveals its weights
VISIBLE = 0.02  # right weights below this are too small to be told from a dropped one


def _dropped(trial: Trial, module: Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """One training run: recovered weights relative to the right ones, and where to trust them."""
    right = trial.map_of(module, x, trial.expected(module, x, sizes=SIZES), SIZES)
    got = trial.map_of(module, x, trial.run(module, x, sizes=SIZES), SIZES)
    return got / right, right > VISIBLE


def _train(module: Module) -> Module:
    return module.train()  # type: ignore[union-attr]


@points(2)
def drops_weights(trial: Trial) -> None:
    """In training each weight after the softmax is dropped or kept whole, anew in every call."""
    module = _train(trial.module(SIZES, dropout_rate=0.4))
    x = trial.input(SIZES)
    ratios, sure = _dropped(trial, module, x)
    again, _ = _dropped(trial, module, x)
    expect(
        bool((ratios - again).abs()[sure].max() > 0.1),
        "training: expected other weights to be dropped in every call, two calls gave the same",
    )
    kept = ratios[sure & (ratios.abs() > 0.05)]
    expect(kept.numel() > 0, "training: expected some weights to be kept, all are 0")
    spread = float(kept.max() - kept.min())
    expect(
        spread < 0.02,
        "training: expected each attention weight to be either 0 or its value after the softmax "
        f"times one number; that number goes from {float(kept.min()):.3g} to "
        f"{float(kept.max()):.3g}",
    )
    expect(kept.numel() < int(sure.sum()), "training: expected some weights to be 0, none is")


@points(1)
def uses_its_rate(trial: Trial) -> None:
    """The share of dropped weights is the constructor's rate."""
    for rate in (0.2, 0.7):
        module = _train(trial.module(SIZES, dropout_rate=rate))
        runs = [_dropped(trial, module, trial.input(SIZES)) for _ in range(3)]
        zero = torch.cat([(ratios.abs() < 0.05)[sure] for ratios, sure in runs]).double()
        bound = 6 * sqrt(rate * (1 - rate) / zero.numel())  # six standard deviations
        expect(
            abs(float(zero.mean()) - rate) < bound,
            f"training with dropout_rate={rate}: expected about {rate:.0%} of the weights to be "
            f"dropped, got {float(zero.mean()):.0%} of {zero.numel()}",
        )
    module = _train(trial.module(SIZES, dropout_rate=0.0))
    x = trial.input(SIZES)
    expect_close(
        trial.run(module, x, sizes=SIZES),
        trial.expected(module, x, sizes=SIZES),
        "training output with dropout_rate=0",
    )


@points(1)
def keeps_the_mean(trial: Trial) -> None:
    """What is kept is scaled by 1/(1 - rate)."""
    for rate in (0.2, 0.7):
        module = _train(trial.module(SIZES, dropout_rate=rate))
        ratios, sure = _dropped(trial, module, trial.input(SIZES))
        kept = ratios[sure & (ratios.abs() > 0.05)]
        mean = float(kept.mean()) if kept.numel() else 0.0
        expect(
            abs(mean * (1 - rate) - 1) < 0.01,
            f"training with dropout_rate={rate}: expected the kept weights × {1 / (1 - rate):.3g}, "
            f"got × {mean:.3g}",
        )


@points(2)
def evaluation_is_deterministic(trial: Trial) -> None:
    """In evaluation nothing is dropped, whatever the rate, and after training too."""
    module = trial.module(dropout_rate=0.6)
    x = trial.input()
    expected = trial.expected(module, x)
    expect_close(trial.run(module, x), expected, "output in evaluation")
    trial.run(_train(module), x)
    module.eval()  # type: ignore[union-attr]
    for _ in range(2):
        expect_close(trial.run(module, x), expected, "output in evaluation, after training")


@points(1)
def hidden_keys_stay_hidden_in_training(trial: Trial) -> None:
    """Dropout and a mask together: finite, and hidden keys weigh nothing."""
    module = _train(trial.module(SIZES, dropout_rate=0.5))
    x = trial.input(SIZES)
    mask = trial.draw.mask(SIZES.B, SIZES.T, SIZES.T)
    out = trial.run(module, x, mask, sizes=SIZES)
    expect_finite(out, "training output under a mask")
    weights = trial.map_of(module, x, out, SIZES).squeeze(-2)
    hidden = weights[mask.cpu() == 0]
    expect_close(hidden, torch.zeros_like(hidden), "training: weights of hidden keys", 1e-3)
