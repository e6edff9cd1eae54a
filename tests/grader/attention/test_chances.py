"""What chance says of dropped weights."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.attention.claims.chances import (
    SAMPLE_SETTINGS,
    SampleSetting,
    describe_dependence,
    setting_with_wrong_rate,
    share_is_off,
)

SETTING = SAMPLE_SETTINGS[0]
SHAPE = (SETTING.runs, SETTING.sizes.B, SETTING.sizes.T, SETTING.sizes.T)


def independent() -> Tensor:
    return (torch.rand(SHAPE) < SETTING.rate).double()


def exactly_half_of_a_sequence() -> Tensor:
    places = torch.rand(SHAPE).flatten(-2).argsort(-1)
    return (places < places.size(-1) // 2).double().reshape(SHAPE)


def never_all_of_a_query() -> Tensor:
    setting = SAMPLE_SETTINGS[4]
    dropped = torch.rand(setting.runs, setting.sizes.B, 2, 2) < setting.rate
    return (dropped & ~dropped.all(-1, keepdim=True)).double()


def later_keys_more() -> Tensor:
    return (torch.rand(SHAPE) < torch.linspace(0.35, 0.65, SHAPE[-1])).double()


def spares_itself() -> Tensor:
    return independent() * (1 - torch.eye(SHAPE[-1]))


def spares_its_neighbours() -> Tensor:
    return independent() * (1 - torch.eye(SHAPE[-1]).roll(1, -1))


def with_the_other_way_round() -> Tensor:
    drawn = independent()
    return drawn.triu() + drawn.triu(1).mT


def shared_four_apart() -> Tensor:
    return independent()[:, :4].repeat(1, 3, 1, 1)


def by_turns() -> Tensor:
    first = independent()[:1]
    return torch.cat([first, 1 - first])


def mirrored() -> Tensor:
    first = independent()[:1]
    return torch.cat([first, first.flip(-1)])


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (exactly_half_of_a_sequence, "the number of weights dropped per sequence"),
        (later_keys_more, "later keys"),
        (spares_itself, "own weight"),
        (spares_its_neighbours, "keys 1 after the query"),
        (with_the_other_way_round, "two positions drop each other"),
        (shared_four_apart, "sequences"),
        (by_turns, "calls 1 apart"),
        (mirrored, "mirror"),
    ],
)
def test_what_is_no_chance_is_seen(draw: Callable[[], Tensor], says: str) -> None:
    torch.manual_seed(3)
    assert says in describe_dependence(SETTING, draw())


def test_query_that_never_loses_all_is_seen() -> None:
    torch.manual_seed(3)
    assert "per query" in describe_dependence(SAMPLE_SETTINGS[4], never_all_of_a_query())


def test_any_two_weights_that_are_dropped_together_are_seen() -> None:
    torch.manual_seed(3)
    setting = SAMPLE_SETTINGS[5]
    drawn = (torch.rand(1, setting.sizes.B, 5, 5) < setting.rate).double()
    assert not describe_dependence(setting, drawn)
    drawn[..., 4, 1] = drawn[..., 0, 2]
    assert "two weights are always dropped together" in describe_dependence(setting, drawn)


def test_chance_is_believed() -> None:
    torch.manual_seed(3)
    for setting in SAMPLE_SETTINGS:
        keys = min(setting.sizes.T, setting.sizes.C)
        shape = (setting.runs, setting.sizes.B, setting.sizes.T, keys)
        for _ in range(20):
            dropped = (torch.rand(shape) < setting.rate).double()
            assert not share_is_off(setting.rate, dropped)
            assert describe_dependence(setting, dropped) == ""


@pytest.mark.parametrize("setting", SAMPLE_SETTINGS, ids=str)
def test_nothing_dropped_is_seen(setting: SampleSetting) -> None:
    keys = min(setting.sizes.T, setting.sizes.C)
    shape = (setting.runs, setting.sizes.B, setting.sizes.T, keys)
    assert share_is_off(setting.rate, torch.zeros(shape, dtype=torch.float64))


def drawn_together(setting: SampleSetting, *alike: int, rate: float | None = None) -> Tensor:
    """What is dropped, along these axes all or nothing."""
    sizes = setting.sizes
    shape = [setting.runs, sizes.B, sizes.T, setting.nonzero_tokens or sizes.T]
    own = [1 if dim - 4 in alike else size for dim, size in enumerate(shape)]
    return (torch.rand(own) < (setting.rate if rate is None else rate)).double().expand(shape)


@pytest.mark.parametrize("alike", [-1, -2, -3], ids=["rows", "columns", "all sequences"])
def test_weights_dropped_together_are_no_wrong_rate(alike: int) -> None:
    torch.manual_seed(3)
    for _ in range(5):
        observed = {setting: drawn_together(setting, alike) for setting in SAMPLE_SETTINGS}
        assert setting_with_wrong_rate(observed) is None
        assert any(describe_dependence(*one) for one in observed.items())


@pytest.mark.parametrize("alike", [(), (-1,)], ids=["one by one", "rows"])
def test_wrong_rate_is_seen_whatever_is_dropped_together(alike: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    observed = {one: drawn_together(one, *alike, rate=one.rate / 2) for one in SAMPLE_SETTINGS}
    assert setting_with_wrong_rate(observed) is not None


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_wrong_rate_is_no_dependence(rate: float) -> None:
    torch.manual_seed(3)
    for setting in SAMPLE_SETTINGS:
        assert describe_dependence(setting, drawn_together(setting, rate=rate)) == ""
