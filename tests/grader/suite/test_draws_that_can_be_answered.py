"""Rounding does not decide what is read off an output, and the mistakes that it is for show."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.attention.claims import chances, dropout, scores
from grader.attention.oracle import apply_dropout
from grader.attention.situations import keeping
from grader.kit import installed_kit
from grader.sandbox.null import NullSession
from grader.suite import Harness, Sizes
from grader.suite.calls import PlannedCall
from grader.suite.compare import CheckFailed
from grader.suite.draw import Draw
from grader.suite.readable import MAX_TRIES, Drawn, readable
from grader.suite.runner import suite_runner

DRAWS = 10
NOBODY: Any = NullSession()


def contract_of(name: str) -> Any:
    return suite_runner(installed_kit().find(name).suite).plugin.contract


def harness_of(name: str, seed: int) -> Harness:
    return Harness(contract_of(name), NOBODY, Draw(seed), {}, seed=seed)


def test_a_draw_is_made_again_until_noise_does_not_change_what_is_read() -> None:
    harness = harness_of("exercise2", 1)
    drawn: list[Drawn] = []

    def draw() -> Drawn:
        inputs = harness.inputs()
        drawn.append(Drawn(harness.sizes, harness.weights(harness.sizes), inputs))
        return drawn[-1]

    def read(call: PlannedCall, out: Tensor) -> None:
        assert not torch.equal(out, call.expected)
        if len(drawn) < 4:
            raise CheckFailed("as noise has it")

    assert readable(harness, draw, read) is drawn[3]
    drawn.clear()

    def never(call: PlannedCall, out: Tensor) -> None:
        raise CheckFailed("as noise has it")

    with pytest.raises(pytest.skip.Exception, match="rounding could have decided what comes"):
        readable(harness, draw, never)
    assert len(drawn) == MAX_TRIES


def reads_scale(harness: Harness) -> Callable[[PlannedCall, Tensor], None]:
    def read(call: PlannedCall, out: Tensor) -> None:
        weights, right = scores.recover_attention(call, out, call.expected)
        scores._expect_scaled(harness.contract, call.sizes, weights, right)

    return read


@pytest.mark.parametrize("name", ["exercise3", "warmup3", "decoder1"])
def test_a_wrong_scale_shows_in_every_draw(name: str) -> None:
    """At √(C·H) in place of √C, or at a tenth more."""
    harness = harness_of(name, 3)
    contract: Any = harness.contract
    sizes = contract.revealing(contract.sizes[0])
    read = reads_scale(harness)
    for _ in range(DRAWS):
        drawn = readable(harness, partial(scores._draw, harness, sizes), read)
        call = drawn.planned(contract)
        for factor in (2**-0.5, 1.1):
            with pytest.raises(CheckFailed):
                read(call, scaled(call, factor))


def scaled(call: PlannedCall, factor: float) -> Tensor:
    """The output where queries, and so the scores, are so many times as large."""
    weights = {n: w.clone() for n, w in call.weights.items()}
    zero = call.contract.zero_queries(weights)
    for name, weight in weights.items():
        queries = zero[name] != weight
        weight[queries] *= factor
    other = Drawn(call.sizes, weights, call.inputs).planned(call.contract)
    return other.expected


def test_what_is_dropped_is_told_in_every_draw() -> None:
    """A rate that is off by 0.1 makes as many flags that are off."""
    harness = harness_of("exercise3", 5)
    setting = chances.SampleSetting(Sizes(B=12, T=24, C=37), 0.5)
    for _ in range(10):
        drawn = readable(
            harness,
            partial(chances._draw, harness, setting),
            partial(chances._expect_readable, setting),
        )
        call = drawn.planned(harness.contract)
        keep = (torch.rand(12, 24, 24) >= 0.6).double() / (1 - 0.6)
        with apply_dropout(keep):
            out = call.compute_right_outputs()["output"]
        maps = scores.recover_attention(call, out)[0].squeeze(-2)
        flags = (maps.abs() < chances._kept_weight(setting) / 2).double()
        assert torch.equal(flags, (keep == 0).double())
        assert chances.share_is_off(setting.rate, flags[None])


def test_weights_are_read_off_what_was_drawn_for_dropout() -> None:
    harness = harness_of("exercise4", 7)
    for setting in dropout.RATE_SETTINGS:
        drawn = readable(
            harness, partial(dropout._draw, harness, setting), dropout._expect_readable
        )
        call = drawn.planned(harness.contract)
        dropout._expect_readable(call, call.expected)
        with pytest.raises(CheckFailed):
            dropout._expect_readable(call, call.expected * 1.01)


def test_keys_that_are_nearly_the_same_do_not_tell_what_was_kept() -> None:
    harness = harness_of("exercise2", 9)
    sizes = Sizes(B=1, T=4, C=16)
    x, weights = harness.inputs(sizes)["x"], harness.weights(sizes)
    near = x.clone()
    near[:, 1] = near[:, 0] * (1 + 1e-4)
    for given, tells in ((x, True), (near, False)):
        call = Drawn(sizes, weights, {"x": given}).planned(harness.contract)
        found = keeping.tells_what_is_kept(call, torch.float32, call.expected, harness.draw)
        assert found is tells
