"""Statistical tests of dropped weights: how many there are, and whether one depends on another.

Queries are zero, so all weights are equal, and an output shows which of them were dropped. Each
statistic is compared with what independent draws give; all bounds together are exceeded by chance
less than once in a million gradings. Flags are numbers of 0 and 1, where 1 stands for a dropped
weight.

Source: Wilson and Hilferty (1931), for the tails of a chi-squared distribution.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from grader.attention.maps import recover_attention, unmixing
from grader.suite.calls import PlannedCall
from grader.suite.compare import expect
from grader.suite.harness import Harness
from grader.suite.readable import Drawn, readable
from grader.suite.sizes import Sizes

MAX_ROUNDING_SHARE = 0.2  # of a kept weight; from 0.5 on, rounding would decide
MAX_TRIAL_READING_T = 30  # positions; above, a trial reading of what is dropped takes too long
MAX_SIGMAS = 6.5  # standard deviations, for some 1,500 statistics


@dataclass(frozen=True)
class SampleSetting:
    """One way in which dropout is tried.

    Attributes:
        rate: Dropout rate passed to the constructor.
        runs: Number of calls.
        nonzero_tokens: Number of tokens, the last ones, that are not zero, so that the output shows
            which of their weights were dropped; 0 for all. Far fewer than features: with about as
            many, rounding blurs which were.
    """

    sizes: Sizes
    rate: float
    runs: int = 1
    dtype: torch.dtype = torch.float32
    nonzero_tokens: int = 0

    def __str__(self) -> str:
        """Return a text such as ``dropout_rate=0.5, B=12, T=24, C=37``."""
        return f"dropout_rate={self.rate}, B={self.sizes.B}, T={self.sizes.T}, C={self.sizes.C}"


SAMPLE_SETTINGS = (
    SampleSetting(Sizes(B=12, T=24, C=37), 0.5, runs=2),
    SampleSetting(Sizes(B=6, T=16, C=29), 0.4, runs=2, dtype=torch.bfloat16),
    SampleSetting(Sizes(B=1, T=128, C=140), 0.3),
    SampleSetting(Sizes(B=8, T=40, C=16), 0.5, nonzero_tokens=10),  # more keys than features
    SampleSetting(Sizes(B=300, T=2, C=7), 0.3),
    SampleSetting(Sizes(B=300, T=5, C=11), 0.5),  # 300 maps: enough to compare any two weights
    SampleSetting(Sizes(B=300, T=1, C=3), 0.3),
    SampleSetting(Sizes(B=4, T=64, C=70), 0.004),
    SampleSetting(Sizes(B=4, T=16, C=29), 0.95),
    SampleSetting(Sizes(B=2, T=257, C=140), 0.5, nonzero_tokens=128),
)
TOO_MANY_FLAGS = 50_000  # from which on not every two along an axis are compared
MAX_LAG_SIGMAS = 7.5  # standard deviations, for some 60,000 lags
MIN_OVERLAP_FLAGS = 5000  # compared at a lag; fewer say nothing of a repetition
AXES_DROPPED_TOGETHER = (-1, -2, -3, (-1, -2))  # of weights: a query's, a key's, …
MIN_FLAGS = 200  # above which a statistic of them is meaningful


def observe(harness: Harness) -> dict[SampleSetting, Tensor]:
    """Return which weights were dropped in every setting, (runs, B, T, S): 1 = dropped, else 0."""
    settings = [
        replace(one, sizes=harness.within_reach(one.sizes, one.runs)) for one in SAMPLE_SETTINGS
    ]
    calls = {setting: _plan(harness, setting) for setting in settings}
    harness.ask(lambda: [unmixing(first) for first, *_ in calls.values()])
    return {setting: _dropped_flags(setting, planned) for setting, planned in calls.items()}


def _plan(harness: Harness, setting: SampleSetting) -> list[PlannedCall]:
    draw = partial(_draw, harness, setting)
    is_dear = setting.sizes.T > MAX_TRIAL_READING_T  # rounding never decided at such lengths
    drawn = draw() if is_dear else readable(harness, draw, partial(_expect_readable, setting))
    runs = [drawn.inputs] * setting.runs
    planned = []
    for each in (runs, runs[:1]) if setting.runs > 1 else (runs,):  # each with its own module
        module = harness.module(setting.sizes, drawn.weights, dropout_rate=setting.rate)
        planned += module.to(setting.dtype).train().calls(each)
    return planned


def _draw(harness: Harness, setting: SampleSetting) -> Drawn:
    contract: Any = harness.contract
    weights = contract.plain_weights(harness.weights(setting.sizes))
    weights = {name: w * (w.dim() > 1) for name, w in weights.items()}
    inputs = harness.inputs(setting.sizes)
    if setting.nonzero_tokens:
        inputs["x"][:, : -setting.nonzero_tokens] = 0  # value vectors must be independent, or zero
    inputs = {name: value.to(setting.dtype) for name, value in inputs.items()}
    return Drawn(setting.sizes, weights, inputs, dtype=setting.dtype)


def _expect_readable(setting: SampleSetting, call: PlannedCall, out: Tensor) -> None:
    """Fail where rounding makes a dropped weight hard to tell from a kept one."""
    (weights,) = recover_attention(call, out)
    off = (weights.squeeze(-2)[..., -setting.nonzero_tokens :] - 1 / setting.sizes.T).abs()
    expect(float(off.max()) < MAX_ROUNDING_SHARE * _kept_weight(setting), "output")


def _kept_weight(setting: SampleSetting) -> float:
    """Return the value of a kept weight in training, where all weights are equal."""
    return 1 / (setting.sizes.T * (1 - setting.rate))


def _dropped_flags(setting: SampleSetting, calls: list[PlannedCall]) -> Tensor:
    maps = torch.stack(recover_attention(calls[0], *(call.out for call in calls))).squeeze(-2)
    found = maps[..., -setting.nonzero_tokens :].abs()
    largest, still = float(found.max()), 1 / setting.sizes.T
    # Kept weights are smaller if 1/(1 - rate) was left out; they must not count as dropped.
    kept = min(_kept_weight(setting), largest) if largest > still / 2 else _kept_weight(setting)
    return (found < kept / 2).double()


def setting_with_wrong_rate(observed: dict[SampleSetting, Tensor]) -> SampleSetting | None:
    """Return a setting where more or fewer weights are dropped than chance allows; None if none.

    Where few weights are dropped, or few kept, ``observed`` (1 = dropped) does not show whether
    weights are dropped together. If another setting shows that they are, such a setting says
    nothing about the rate.
    """
    off = [setting for setting, flags in observed.items() if share_is_off(setting.rate, flags)]
    if not off:
        return None
    shown = [setting for setting in off if _shows_dependence(setting, observed[setting])]
    if not shown and any(
        describe_dependence(setting, flags) for setting, flags in observed.items()
    ):
        return None
    return (*shown, *off)[0]


def share_is_off(rate: float, dropped: Tensor, known: Tensor | None = None) -> bool:
    """Return whether more or fewer weights are dropped than chance allows at this rate.

    Where weights are dropped together, chance makes their number vary more. That they are dropped
    together is no wrong rate.

    Args:
        rate: Rate that was asked for.
        dropped: Which weights were dropped, (runs, B, T, S): 1 = dropped, else 0.
        known: For which weights ``dropped`` is known, in a shape that broadcasts; None for all.
    """
    known = torch.ones_like(dropped) if known is None else known.expand_as(dropped).double()
    count = float(known.sum())
    apart = (dropped - (dropped * known).sum() / count) * known
    together = (apart.sum(dims).square().sum() for dims in AXES_DROPPED_TOGETHER)
    variance = max(count * rate * (1 - rate), *map(float, together))
    return float(((dropped - rate) * known).sum().abs()) > MAX_SIGMAS * sqrt(variance)


def describe_dependence(setting: SampleSetting, dropped: Tensor) -> str:
    """Return in words how dropped weights depend on one another or on their position.

    The text is empty where the draws look independent.
    """
    if not _shows_dependence(setting, dropped):
        return ""
    is_off = share_is_off(setting.rate, dropped)  # a wrong rate alone is no dependence
    share = float(dropped.mean()) if is_off else setting.rate
    z = (dropped - share) / sqrt(share * (1 - share))
    found = (
        *_slopes(z),
        *_counts(z),
        *(_pairs(z) if z.numel() < TOO_MANY_FLAGS else _repetitions(z)),
    )
    return next((says for says, is_off in found if is_off), "")


def _shows_dependence(setting: SampleSetting, dropped: Tensor) -> bool:
    """Return whether a dependence can show: both kinds of flags occur, at a rate far from 0 and 1.

    Sums of a few hundred such flags are about normally distributed.
    """
    return 0.25 < setting.rate < 0.75 and 0 < float(dropped.mean()) < 1


def _is_beyond_chance(z: Tensor) -> bool:
    return bool(z.sum().abs() > MAX_SIGMAS * sqrt(z.numel()))


def _are_beyond_chance(sums: Tensor, counts: Tensor) -> Tensor:
    """Return which sums, each of so many values, are larger than chance makes them."""
    return (sums.abs() > MAX_SIGMAS * counts.sqrt()) & (counts > MIN_FLAGS)


AXES = ((-1, "keys"), (-2, "queries"), (-3, "sequences"), (-4, "calls"))


def _slopes(z: Tensor) -> Iterator[tuple[str, bool]]:
    for dim, name in AXES[:3]:
        if (size := z.size(dim)) > 1:
            place = torch.linspace(-1, 1, size, dtype=z.dtype)
            slope = z.sum([d for d in range(-4, 0) if d != dim]) @ place
            spread = place.norm() * sqrt(z.numel() / size)
            yield (
                f"later {name} are dropped at a different rate",
                bool(slope.abs() > MAX_SIGMAS * spread),
            )
    if z.size(-1) == z.size(-2) > 1:
        own = z.diagonal(dim1=-2, dim2=-1)
        yield "a position's own weight is dropped at a different rate", _is_beyond_chance(own)
        size = z.size(-1)
        diagonals = torch.arange(1 - size, size)
        counts = (size - diagonals.abs()) * (z.numel() // size**2)
        sums = _diagonal_sums(z.flatten(0, -3).sum(0))
        for away in diagonals[_are_beyond_chance(sums, counts)].tolist():
            yield f"weights of keys {away} after the query are dropped at a different rate", True


def _counts(z: Tensor) -> Iterator[tuple[str, bool]]:
    """Test whether the number of dropped weights per query, key or sequence varies as by chance."""
    for dims, name in ((-1, "query"), (-2, "key"), ((-2, -1), "sequence")):
        sums = z.sum(dims)
        count = sums.numel()
        if count == z.numel():
            continue
        mean = float(sums.square().mean()) * count / z.numel()  # 1 where each is independent
        third = 2 / (9 * count)
        is_off = abs(mean ** (1 / 3) - (1 - third)) > MAX_SIGMAS * sqrt(third)
        yield f"the number of weights dropped per {name} is not random", is_off


def _repetitions(z: Tensor) -> Iterator[tuple[str, bool]]:
    """Test whether a stretch of flags, in the order in which they were drawn, occurs once more."""
    flat = z.flatten().float()  # enough for sums of so many numbers near 1
    count = flat.numel()
    period = 2 ** (2 * count - MIN_OVERLAP_FLAGS).bit_length()  # so long that no lag wraps around
    spectrum = torch.fft.rfft(flat, n=period)
    together = torch.fft.irfft(spectrum.abs().square(), n=period)[1 : count - MIN_OVERLAP_FLAGS]
    overlap = torch.arange(count - 1, MIN_OVERLAP_FLAGS, -1, dtype=z.dtype)
    lags = (together.abs() > MAX_LAG_SIGMAS * overlap.sqrt()).nonzero().flatten() + 1
    first = int(lags[0]) if lags.numel() else 0
    yield f"weights {first} apart in memory are dropped together", first > 0


def _pairs(z: Tensor) -> Iterator[tuple[str, bool]]:
    for dim, name in AXES:
        size = z.size(dim)
        counts = torch.arange(size, 0, -1) * (z.numel() // size)  # of two flags, by their lag
        for lag in _are_beyond_chance(_together(z, dim), counts)[1:].nonzero().flatten() + 1:
            yield f"{name} {lag} apart are dropped together, or alternately", True
    for first, second in itertools.pairwise(z):
        for dim in (-1, -2, -3):
            yield "two calls drop mirror images", _is_beyond_chance(first * second.flip(dim))
    if z.size(-1) == z.size(-2):
        swapped = (z * z.mT)[..., *torch.triu_indices(z.size(-1), z.size(-1), 1)]
        says = "two positions drop each other, or alternately"
        yield says, swapped.numel() > MIN_FLAGS and _is_beyond_chance(swapped)
    yield from _any_two(z.flatten(0, -3).flatten(1))


def _together(z: Tensor, dim: int) -> Tensor:
    """Return, for each lag along an axis, the sum of the products of any two flags so far apart."""
    lines = z.movedim(dim, 0).flatten(1)
    return _diagonal_sums(lines @ lines.T)[lines.size(0) - 1 :]


def _diagonal_sums(square: Tensor) -> Tensor:
    """Return the sum of each diagonal, from the lower left corner's to the upper right one's."""
    size = square.size(0)
    padded = pad(square.flip(-1), (0, size)).flatten()
    # In rows one shorter than they are, what lies on one diagonal stands below one another.
    return padded[: size * (2 * size - 1)].view(size, -1).sum(0).flip(0)


def _any_two(maps: Tensor) -> Iterator[tuple[str, bool]]:
    """Test whether any two weights are dropped together, or alternately, across many maps."""
    count, places = maps.shape
    if count > MIN_FLAGS > places:
        together = (maps.T @ maps).triu(1).abs().max()
        yield (
            "two weights are always dropped together, or alternately",
            bool(together > MAX_SIGMAS * sqrt(count)),
        )
