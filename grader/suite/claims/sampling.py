"""Claims about sampling: the probabilities of the next token, and how often each token is drawn.

Logits are divided by a temperature; then top-k and top-p remove tokens, but never one that is as
likely as another that is kept; the probabilities of the rest are renormalised.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import log
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.suite.calls import PlannedCall
from grader.suite.compare import (
    expect,
    expect_close,
    expect_gradient,
    expect_tensor,
)
from grader.suite.contract import Contract, Input
from grader.suite.harness import Harness
from grader.suite.sizes import Sizes

MIN_DISTANCE_TO_P = 2e-5  # below it, rounding decides whether a sum of probabilities reaches p
MIN_LOGIT_GAP = 5e-7  # over the largest logit if above 1; below it float32 may find two equal
SAFE_GAP = 1e-3  # to p, and between ranks, even where logits are rounded as well
MIN_PROBABILITY = 1e-20  # a smaller one may be 0 in float32
LOG_FALSE_ALARM_ODDS = log(2e10)  # for bounds that chance alone exceeds once in 10¹⁰

SamplingSettings = dict[str, Any]  # temperature, top_k, top_p; a call leaves out what is not set
SETTINGS_BY_NAME: dict[str, SamplingSettings] = {
    "nothing": {},
    "a low temperature": {"temperature": 0.4},
    "a high temperature": {"temperature": 3.0},
    "top-k of 1": {"top_k": 1},
    "top-k": {"top_k": 3},
    "a top-k above the number of tokens": {"top_k": 300},
    "top-p of 0": {"top_p": 0.0},
    "a small top-p": {"top_p": 0.15},
    "top-p": {"top_p": 0.6},
    "a large top-p": {"top_p": 0.93},
    "top-p of 1": {"top_p": 1.0},
    "top-k and top-p": {"top_k": 4, "top_p": 0.8},
    "a temperature and top-k": {"temperature": 2.0, "top_k": 2},
    "a temperature and top-p": {"temperature": 0.5, "top_p": 0.7},
    "all three": {"temperature": 1.7, "top_k": 5, "top_p": 0.85},
}


def shares_and_sums(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return the right probabilities and, for each token, the sum of all that are larger.

    Both are (B, V). Top-p keeps the tokens whose sum is below p, and the likeliest in any case.
    """
    scaled = logits.to(torch.promote_types(logits.dtype, torch.float32)) / (temperature or 1.0)
    is_highest = scaled == scaled.amax(-1, keepdim=True)
    if top_k is not None:
        higher = (scaled[:, None, :] > scaled[:, :, None]).sum(-1)
        scaled = scaled.masked_fill(higher >= top_k, float("-inf"))
    above = scaled[:, None, :] > scaled[:, :, None]  # (B, V, V)
    sums = (above * scaled.softmax(-1)[:, None]).sum(-1)
    if top_p is not None:
        scaled = scaled.masked_fill((sums >= top_p) & ~is_highest, float("-inf"))
    first = is_highest & (is_highest.cumsum(-1) == 1)
    return (scaled.softmax(-1) if temperature else first).to(logits.dtype), sums


def sampling(entry: str) -> Contract:
    """Return the contract of a function from logits (B, V) to probabilities, for all settings."""
    variants = {name: sampling_with(entry, how) for name, how in SETTINGS_BY_NAME.items()}
    return replace(sampling_with(entry, {}), variants=variants, tried=True)


def sampling_with(entry: str, how: SamplingSettings) -> Contract:
    """Return the contract of the function of ``sampling``, under these settings alone."""

    def left_to_rounding(logits: Tensor) -> float:
        shares, sums = shares_and_sums(logits.double(), **how)
        near = _distance_to_p(sums, how).lt(MIN_DISTANCE_TO_P).any() or _has_near_ties(
            logits.double(), shares
        )
        return float("inf") if near else 0.0

    def must_be_zero(logits: Tensor) -> dict[str, Tensor]:
        shares = shares_and_sums(logits.detach().double(), **how)[0]
        return {"probabilities": (shares == 0) & (left_to_rounding(logits.detach()) == 0)}

    return Contract(
        entry=entry,
        sizes=(Sizes(B=2, T=7, V=7), Sizes(B=3, T=11, V=11), Sizes(B=1, T=2, V=2)),
        inputs={"logits": Input("B V", lambda draw, shape, sizes: draw.normal(*shape, std=2.0))},
        outputs={"probabilities": "B V"},
        arguments=lambda sizes: how,
        oracle=lambda weights, sizes, logits: shares_and_sums(logits, **how)[0],
        extra_tolerance=left_to_rounding,
        must_be_zero=must_be_zero,
        fit=lambda sizes: sizes.replace(V=sizes.T),
        is_exact=lambda sizes: True,
        tried=False,
    )


def _distance_to_p(sums: Tensor, how: SamplingSettings) -> Tensor:
    """Return how far each sum is from p; 1 where p decides nothing, as for the likeliest token."""
    p = how.get("top_p")
    return (sums if p is None else sums - p).abs().masked_fill((sums == 0) | (p is None), 1.0)


def _has_near_ties(logits: Tensor, shares: Tensor) -> bool:
    """Return whether rounding may make a removed token as likely as the last one that is kept."""
    last = logits.masked_fill(shares == 0, float("inf")).amin(-1)
    next_ = logits.masked_fill(shares != 0, float("-inf")).amax(-1)
    apart, largest = last - next_, logits.abs().amax(-1).clamp(min=1)
    return bool(((apart > 0) & (apart < MIN_LOGIT_GAP * largest)).any())


def _listed(how: SamplingSettings) -> str:
    """Return settings as a call has them, such as ``top_k=3``."""
    return ", ".join(f"{name}={value}" for name, value in how.items())


def _plan(
    harness: Harness, logits: Tensor, how: SamplingSettings, learns: bool = True
) -> PlannedCall:
    (B, V), entry = logits.shape, harness.contract.entry
    module = harness.of(sampling_with(entry, how)).module(Sizes(B=B, T=V, V=V))
    grad_output = harness.draw.normal(B, V).to(logits.dtype) if learns else None
    return module.call({"logits": logits}, grad_output=grad_output)


def shares_are_right(harness: Harness, every: Iterable[tuple[Tensor, SamplingSettings]]) -> None:
    """Fail the check unless probabilities and their gradients are right under these settings.

    Removed tokens must have exactly 0; at temperature 0 the one token that is kept has exactly 1.
    Logarithms are compared as well, so that small probabilities count.

    Args:
        harness: Plans the calls of its contract's function.
        every: Logits, (B, V), each with settings.
    """
    planned = [
        (_plan(harness, logits, how, how.get("temperature") != 0), how) for logits, how in every
    ]
    harness.ask()
    for call, how in planned:
        given, logits = f"probabilities ({_listed(how)})", call.tensors["logits"]
        temperature = how.get("temperature", 1.0)
        call.expect_form(call.out, logits.dtype, given)
        expect_close(call.out, call.expected, given, None if temperature else 0.0)
        left = int((call.out.cpu()[call.expected == 0] != 0).sum())
        expect(left == 0, f"{given}: {left} tokens that are not kept are above 0")
        there = call.expected > MIN_PROBABILITY
        logs = call.out.cpu()[there].log()
        expect_close(logs, call.expected[there].log(), f"logarithms of {given}")
        if temperature:
            grad = expect_gradient(call.gradients["logits"], "logits")
            rate = 0.1 if grad.dtype == torch.bfloat16 else 1e-4
            more = max(1.0, 1 / temperature)  # a low temperature makes terms large that cancel
            right = call.right_gradients["logits"]
            expect_close(grad, right, f"gradient of logits of {given}", rate * more)


def many_shares_are_right(harness: Harness, every: Iterable[SamplingSettings]) -> None:
    """Fail the check unless the right ones of 997 tokens are kept where logits are bfloat16.

    Their probabilities must be right to 1 %.
    """
    planned = []
    for how in every:
        logits = (harness.draw.permutation(997) / 150).bfloat16().repeat(2, 1)
        planned.append((_plan(harness, logits, how, learns=False), how))
    harness.ask()
    for call, how in planned:
        shares, exactly = call.out.double().cpu(), call.tensors["logits"].double().cpu()
        right, sums = shares_and_sums(exactly, **how)
        clear = _distance_to_p(sums, how) > MIN_DISTANCE_TO_P
        wrong = int((((shares > 0) != (right > 0)) & clear).sum(-1).max())
        expect(wrong == 0, f"{wrong} of 997 tokens are wrongly kept or left out ({_listed(how)})")
        gap = (shares - right).abs() <= 0.01 * right + 1e-9
        expect(bool(gap[(right > 0) & (shares > 0)].all()), "probabilities have lost digits")


def expect_continued(call: PlannedCall, count: int) -> Tensor:
    """Return the tokens that a call generated, (B, T + count), after a check of their form.

    Fail the check unless they are the T given ones and ``count`` more, as int64.
    """
    tokens = call.tensors["tokens"]
    B, T = tokens.shape
    found = expect_tensor(call.result, (B, T + count), "generated", "(B, T + num_tokens)")
    name = str(found.dtype).removeprefix("torch.")
    expect(found.dtype == torch.int64, f"generated: expected int64, got {name}")
    kept = torch.equal(found[:, :T].cpu(), tokens.cpu())
    expect(kept, "generated: it does not begin with the given tokens")
    inside = bool(((found >= 0) & (found < call.module.sizes.V)).all())
    expect(inside, "generated: some numbers are not tokens")
    return found.cpu()


def draws_are_right(tokens: Tensor, logits: Tensor, how: SamplingSettings) -> None:
    """Fail the check unless each token was drawn as often as it should, given the one before it.

    Sequences of the batch must be drawn independently of one another too.

    Args:
        tokens: A token that was given, then those that were drawn, (B, 1 + n).
        logits: The right logits for each drawn token, (B, n, V).
        how: The settings under which they were drawn.
    """
    (B, n, V), given = logits.shape, f"drawn with {_listed(how)}"
    clear = _has_safe_gaps(logits.flatten(0, 1), how)[:, None]
    shares = shares_and_sums(logits.flatten(0, 1), **how)[0] * clear
    drawn = F.one_hot(tokens[:, 1:].flatten(), V) * clear  # (B·n, V)
    kept = bool((drawn <= shares.ceil()).all())
    expect(kept, f"{given}: a token was added whose probability is 0")
    mean, last = shares.square().sum(-1), tokens[:, :-1].flatten()
    came = (drawn * shares).sum(-1) - mean
    _expect_chance(
        came.sum(), (shares.pow(3).sum(-1) - mean.square()).sum(), f"likeliness, {given}"
    )
    for token in range(V):
        off, spread = (drawn - shares)[last == token], (shares * (1 - shares))[last == token]
        what = f"counts of each token after {token}, {given}"
        _expect_chance(off.sum(0), spread.sum(0), what)
    for by in (1, B // 2):  # disjoint pairs only, as these are independent
        alike, mean = (
            (one * one.roll(by, 0)).sum(-1).view(-1, 2 * by, n)[:, :by]
            for one in (drawn.view(B, n, V), shares.view(B, n, V))
        )
        spread = (mean * (1 - mean)).sum()
        _expect_chance((alike - mean).sum(), spread, f"equal tokens {by} sequences apart, {given}")


def _has_safe_gaps(logits: Tensor, how: SamplingSettings) -> Tensor:
    """Return for each row of logits whether rounding cannot change which tokens are kept, (B,)."""
    clear = _distance_to_p(shares_and_sums(logits, **how)[1], how).amin(-1) > SAFE_GAP
    if k := how.get("top_k"):
        ranked = logits.sort(-1, descending=True).values
        clear &= ranked[:, k - 1] - ranked[:, k] > SAFE_GAP
    return clear


def _expect_chance(off: Tensor, variance: Tensor, what: str) -> None:
    """Fail if a sum is further ``off`` its mean than chance allows (Freedman's inequality)."""
    most = (2 * variance * LOG_FALSE_ALARM_ODDS).sqrt() + LOG_FALSE_ALARM_ODDS
    worst = int((off.abs() / most).argmax())
    by, allowed = float(off.flatten()[worst]), float(most.flatten()[worst])
    expect(abs(by) <= allowed, f"{what}: chance allows {allowed:.0f}, it is off by {by:.0f}")
