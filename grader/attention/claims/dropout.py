"""Claims about dropout: on the weights, after the softmax, at the given rate, in training only.

They judge by the ratio of the weights in training to the submission's own weights in evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from grader.attention.claims import chances
from grader.attention.contract import AttentionContract
from grader.attention.maps import recover_attention
from grader.suite.calls import PlannedCall
from grader.suite.compare import expect, expect_close, expect_finite, fail
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.modules import Module
from grader.suite.readable import Drawn, readable
from grader.suite.right_results import Inputs
from grader.suite.situations.implied import expect_right
from grader.suite.sizes import Sizes

SIZES = Sizes(B=7, T=11, C=37)  # few vectors of many features: an output reveals its weights
MAX_ROUNDING_SHARE = 0.005  # of a weight; checks react to 0.02 and more
MIN_VISIBLE_WEIGHT = 0.02  # less is too small to be told from a dropped one
TRAINING_RUNS = 4


@dataclass(frozen=True)
class RateSetting:
    """One way in which dropout is tried.

    Attributes:
        rate: Dropout rate passed to the constructor; None where none is passed.
        masked: Whether some keys are hidden.
    """

    rate: float | None
    masked: bool = False

    def __str__(self) -> str:
        given = "no dropout_rate given" if self.rate is None else f"dropout_rate={self.rate}"
        return given + (" under a mask" if self.masked else "")


HALF_RATE = RateSetting(0.5)
MASKED = RateSetting(0.4, masked=True)
RATE_SETTINGS = (HALF_RATE, RateSetting(0.7), MASKED, RateSetting(None))


@dataclass(frozen=True)
class Observed:
    """Attention weights and outputs of a submission, observed in one setting.

    Attributes:
        rate: Dropout rate in effect.
        right: Right attention weights in evaluation, (B, T, 1, T).
        evaluation_weights: The submission's attention weights in evaluation, of the same shape.
        maps: The submission's attention weights in training, for each run.
        outs: The submission's outputs in training, for each run.
        mask: The mask, (B, T, T); None where there was none.
    """

    rate: float
    right: Tensor
    evaluation_weights: Tensor
    maps: list[Tensor]
    outs: list[Tensor]
    mask: Tensor | None

    @property
    def sure(self) -> Tensor:
        """Where a weight is large enough to be told from a dropped one; fails if none is."""
        sure = self.evaluation_weights > MIN_VISIBLE_WEIGHT
        expect(bool(sure.any()), "expected positive attention weights in evaluation, got none")
        return sure

    @property
    def kept(self) -> Tensor:
        """Which weights each run kept, (runs, B, T, 1, T); meaningless where ``sure`` is False."""
        return torch.stack(self.maps).abs() > 0.05 * self.evaluation_weights

    @property
    def ratios(self) -> list[Tensor]:
        """Weights in training over those in evaluation, for each run, where ``sure`` is True."""
        sure = self.sure
        return [(weights / self.evaluation_weights)[sure] for weights in self.maps]


def observe(harness: Harness) -> dict[RateSetting, Observed]:
    """Return what is observed in each setting, with a module of its own for each.

    All modules are made before the first is called.
    """
    drawn = {
        s: readable(harness, partial(_draw, harness, s), _expect_readable) for s in RATE_SETTINGS
    }
    modules = {
        s: harness.module(SIZES, drawn[s].weights, dropout_rate=s.rate) for s in RATE_SETTINGS
    }
    calls = {setting: _plan(module, drawn[setting].inputs) for setting, module in modules.items()}
    harness.ask()
    return {setting: _observe(setting, *planned) for setting, planned in calls.items()}


def _draw(harness: Harness, setting: RateSetting) -> Drawn:
    inputs = harness.inputs(SIZES, *(["attention_mask"] if setting.masked else []))
    return Drawn(SIZES, harness.weights(SIZES), inputs)


def _expect_readable(call: PlannedCall, out: Tensor) -> None:
    """Fail where rounding would change a weight that the checks look at."""
    weights, right = recover_attention(call, out, call.expected)
    sure = right > MIN_VISIBLE_WEIGHT / 2
    ratios = weights[sure] / right[sure]
    expect_close(ratios, torch.ones_like(ratios), "output", MAX_ROUNDING_SHARE)


def _plan(module: Module, inputs: Inputs) -> tuple[PlannedCall, list[PlannedCall]]:
    """Queue a call in evaluation and ``TRAINING_RUNS`` calls in training, and return them."""
    return module.call(inputs), module.train().calls([inputs] * TRAINING_RUNS)


def _observe(
    setting: RateSetting, evaluation_call: PlannedCall, calls: list[PlannedCall]
) -> Observed:
    contract: Any = evaluation_call.contract
    outs = [call.out for call in calls]
    right, weights, *maps = recover_attention(
        evaluation_call, evaluation_call.expected, evaluation_call.out, *outs
    )
    rate = contract.default_rate if setting.rate is None else setting.rate
    return Observed(rate, right, weights, maps, outs, evaluation_call.tensors.get("attention_mask"))


def _whole_or_dropped(harness: Harness) -> list[Tensor]:
    """Return the ratios of each run at rate 0.5; fail unless each is 0 or the same number."""
    ratios = harness.shared(observe)[HALF_RATE].ratios
    kept = ratios[0][ratios[0].abs() > 0.05]
    expect(kept.numel() > 0, "training: expected some weights to be kept, all are 0")
    expect(kept.numel() < ratios[0].numel(), "training: expected some weights to be 0, none is")
    low, high = float(kept.min()), float(kept.max())
    expect(
        high - low < 0.02,
        "training: expected each attention weight to be either 0 or its value in evaluation "
        f"times one number; that number goes from {low:.3g} to {high:.3g}",
    )
    return ratios


@points(2)
@needs(AttentionContract, "dropout", "masks", "value_vectors")
def drops_weights(harness: Harness) -> None:
    """Each weight is either dropped or kept whole, drawn anew in every call.

    Example:
        test_dropout_drops_weights = attention.drops_weights
    """
    first, second, *_ = _whole_or_dropped(harness)
    expect(
        bool((first - second).abs().max() > 0.1),
        "training: expected different weights dropped in every call, two calls dropped the same",
    )
    expect_right(harness, "drops_weights")


@points(1)
@needs(AttentionContract, "dropout", "masks", "value_vectors")
def drops_each_weight_on_its_own(harness: Harness) -> None:
    """Whether one weight is dropped says nothing about others in its row, column or batch.

    Example:
        test_dropout_drops_each_weight_on_its_own = attention.drops_each_weight_on_its_own
    """
    seen = harness.shared(observe)[HALF_RATE]
    _whole_or_dropped(harness)  # otherwise nothing tells which weights were dropped
    kept, sure = seen.kept.double(), seen.sure
    share = float(kept[:, sure].mean())  # a wrong rate is no dependence
    z = (kept - share) / sqrt(share * (1 - share)) * sure  # (runs, B, T, 1, S): 0 where unknown
    for dim, name in ((1, "sequences"), (2, "queries"), (-1, "keys")):
        together = (z * z.roll(1, dims=dim)).flatten()
        count = max(int((together != 0).sum()), 1)
        correlation = float(together.sum()) / count
        expect(
            abs(correlation) < 6 / sqrt(count),  # six standard deviations
            f"training: expected each weight to be dropped independently, neighbours among "
            f"the {name} are dropped together (correlation {correlation:.2f})",
        )
    for setting, dropped in harness.shared(chances.observe).items():
        found = chances.describe_dependence(setting, dropped)
        expect(not found, f"training ({setting}): weights are not dropped independently: {found}")


@points(1)
@needs(AttentionContract, "dropout", "masks", "value_vectors")
def uses_its_rate(harness: Harness) -> None:
    """The share of dropped weights is the rate that was asked for.

    Example:
        test_dropout_uses_its_rate = attention.uses_its_rate
    """
    for setting, seen in harness.shared(observe).items():
        flags, known = (~seen.kept).double().squeeze(-2), seen.sure.squeeze(-2)
        share, count = float(flags[:, known].mean()), len(flags) * int(known.sum())
        expect(
            not chances.share_is_off(seen.rate, flags, known),
            f"training with {setting}: expected about {seen.rate:.0%} of the weights to be "
            f"dropped, got {share:.0%} of {count}",
        )
    observed = harness.shared(chances.observe)
    if off := chances.setting_with_wrong_rate(observed):
        fail(
            f"training ({off}): expected about {off.rate:.1%} of the weights to be dropped, "
            f"got {float(observed[off].mean()):.1%} of {observed[off].numel()}"
        )


@points(1)
@needs(AttentionContract, "dropout", "masks", "value_vectors")
def keeps_the_mean(harness: Harness) -> None:
    """Kept weights are scaled up by 1/(1 - rate), which preserves the mean.

    Example:
        test_dropout_keeps_the_mean = attention.keeps_the_mean
    """
    for setting, seen in harness.shared(observe).items():
        ratios = torch.cat(seen.ratios)
        kept = ratios[ratios.abs() > 0.05]
        mean = float(kept.mean()) if kept.numel() else 0.0
        if setting.rate is None or abs(mean * (1 - seen.rate) - 1) < 0.01:
            continue
        visible = seen.evaluation_weights[seen.right > MIN_VISIBLE_WEIGHT]
        if bool((visible.abs() < MAX_ROUNDING_SHARE).any()):
            fail(f"training with {setting}: weights are already 0 in evaluation: no factor shows")
        fail(
            f"training with {setting}: expected the kept weights × {1 / (1 - seen.rate):.3g}, "
            f"got × {mean:.3g}"
        )


@points(2)
@needs(AttentionContract, "dropout")
def evaluation_is_deterministic(harness: Harness) -> None:
    """In evaluation the same input gives the same output, before and after training.

    Example:
        test_evaluation_drops_nothing = attention.evaluation_is_deterministic
    """
    module = harness.module(dropout_rate=0.6)
    inputs = harness.every_input()
    first, again = module.calls(inputs), module.calls(inputs)
    module.train().calls(inputs)
    after = module.train(False).calls(inputs)
    harness.ask()
    for calls, when in ((again, "once more"), (after, "after training")):
        for got, still in zip(calls, first, strict=True):
            expect_close(got.out, still.out, f"output in evaluation, {when}")


@points(1)
@needs(AttentionContract, "dropout", "masks", "value_vectors")
def hidden_keys_stay_hidden_in_training(harness: Harness) -> None:
    """0 · -inf is NaN: dropout belongs after the softmax, the mask before.

    Example:
        test_hidden_keys_stay_hidden_in_training = attention.hidden_keys_stay_hidden_in_training
    """
    seen = harness.shared(observe)[MASKED]
    assert seen.mask is not None
    for out, weights in zip(seen.outs, seen.maps, strict=True):
        expect_finite(out, "training output under a mask")
        hidden = weights.squeeze(-2)[seen.mask.cpu() == 0]
        expect_close(hidden, torch.zeros_like(hidden), "training: weights of hidden keys", 1e-3)
    expect_right(harness, "hidden_keys_stay_hidden_in_training")
