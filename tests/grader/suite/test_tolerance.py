"""Noise in every operation: what it moves, what it leaves alone, and that it bounds rounding."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from grader.suite import tolerance
from grader.suite.situations.rounding import OUTPUTS, Rounding
from grader.suite.tolerance import Gap, Noise

TIMES = 4  # as far off as noise may another order of operations be


def test_every_result_is_off_by_about_its_rounding() -> None:
    x = torch.linspace(1, 2, 1001, dtype=torch.float64)
    with Noise(torch.float32, 1):
        doubled = x * 2
    off = (doubled / (x * 2) - 1).abs()
    eps = torch.finfo(torch.float32).eps
    assert torch.allclose(off, torch.full_like(off, eps), rtol=1e-3)
    assert (doubled > x * 2).any()
    assert (doubled < x * 2).any()


def test_what_is_only_looked_at_and_what_counts_is_left_alone() -> None:
    x, n = torch.randn(3, 5, dtype=torch.float64), torch.arange(7)
    with Noise(torch.bfloat16, 1):
        assert torch.equal(x.mT[1:], x.T[1:])
        assert torch.equal(n + 1, torch.arange(1, 8))
        hidden = x.masked_fill(x < 0, -torch.inf)
    assert torch.equal(hidden.isinf(), x < 0)
    assert not hidden.isnan().any()


@pytest.mark.parametrize(("number", "is_moved"), [(0.5, False), (3.0, False), (0.1, True)])
def test_constant_is_moved_where_float32_does_not_have_it(number: float, is_moved: bool) -> None:
    assert (Noise(torch.float64, 1).constant(number) != number) == is_moved
    assert Noise(torch.float64, 1, is_exact=True).constant(number) == number


def test_rows_that_are_alike_stay_so_where_that_is_asked() -> None:
    rows = torch.randn(1, 5, dtype=torch.float64).expand(4, 5)
    with Noise(torch.float32, 1, alike=True):
        alike = rows * 3
    with Noise(torch.float32, 1):
        apart = rows * 3
    assert (alike == alike[0]).all()
    assert not (apart == apart[0]).all()


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.mT / 3, -1) @ v


def step_by_step(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q / 3) @ k.mT
    powers = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return torch.stack([(row[..., None] * v).sum(-2) for row in powers])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [1.0, 60.0])
def test_another_order_of_operations_is_within_what_noise_makes(
    dtype: torch.dtype, size: float
) -> None:
    dice = torch.Generator().manual_seed(3)
    given = [(size * torch.randn(11, 7, generator=dice)).to(dtype) for _ in range(3)]
    exact = [one.double() for one in given]
    right = attend(*exact)

    def off_under(noise: Noise) -> Gap:
        # Before, as what draws would be off as well.
        perturbed = [noise.perturbed(one) for one in exact]
        with noise:
            return Gap.between(attend(*perturbed), right)

    most = Gap(*map(max, *(off_under(Noise(dtype, n, n % 2 == 1)) for n in range(12))))
    for other in (attend, step_by_step):
        off = Gap.between(other(*given), right)
        assert off.largest <= TIMES * most.largest
        assert off.length <= TIMES * most.length
    if size == 1:  # the rounding of large scores is as much as what comes of others
        others = Gap.between(attend(exact[1], exact[0], exact[2]), right)
        assert others.length > TIMES * most.length


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_large_scores_leave_half_of_a_weight_at_least(dtype: torch.dtype) -> None:
    scores = torch.linspace(-1e6, 1e6, 7, dtype=torch.float64).expand(3, 7)
    with Noise(dtype, 1):
        weights = torch.softmax(scores, -1)
    assert (weights >= 0).all()
    assert (weights[:, -1] >= 0.5).all()


def test_signs_are_the_same_whoever_is_the_first_to_draw_them() -> None:
    tolerance._drawn_signs.cache_clear()
    noise = Noise(torch.bfloat16, 1)
    with noise:  # as a call shakes its inputs
        noise.perturbed(torch.ones(3, dtype=torch.float64))
    assert (tolerance._drawn_signs().abs() == 1).all()


def test_sum_in_the_backward_of_a_softmax_is_rounded_as_well() -> None:
    """Of equal values no gradient is left but for what that sum is off by."""
    scores = torch.zeros(3, 5, dtype=torch.float64, requires_grad=True)
    with Noise(torch.float32, 1):
        (torch.softmax(scores, -1) * 7).sum().backward()
    assert scores.grad is not None
    eps = torch.finfo(torch.float32).eps
    assert (scores.grad.sum(-1).abs() > eps).all()
    assert (scores.grad.abs() < 100 * eps).all()


def test_gap_takes_what_is_equally_not_finite_for_the_same() -> None:
    right = torch.tensor([1.0, torch.inf, torch.nan], dtype=torch.float64)
    assert Gap.between(right, right) == Gap()
    assert Gap.between(torch.tensor([1.0, 2.0, torch.nan]), right).largest == torch.inf
    assert Gap.between(torch.tensor([3.0, torch.inf, torch.nan]), right) == Gap(2.0, 2.0)


def test_equal_numbers_whose_mean_is_exact_by_luck_set_no_bound() -> None:
    x, bias = torch.full((16,), 7.3), torch.linspace(-2e-3, 1e-3, 16)

    def centred(dtype: torch.dtype, noise: Noise | None = None) -> dict[str, torch.Tensor]:
        with noise or nullcontext():
            moved = (noise.perturbed(x) if noise else x).to(dtype)
            return {"output": (moved - moved.mean()) * 300 + bias.to(dtype)}

    right = centred(torch.float64)
    assert torch.equal(right["output"], bias.double())
    around = torch.eye(16) - 1 / 16
    gap = Gap.between(x @ around * 300 + bias, right["output"])
    assert gap.largest > 2e-5
    rounding = Rounding(
        right, centred, OUTPUTS, torch.float32, 0.0, is_exact=False,
        overflows=False, near_a_kink=lambda: False, runs={},
    )  # fmt: skip
    assert rounding.is_rounding("output", gap)
    assert not rounding.is_rounding("output", Gap(1.0, 1.0))
