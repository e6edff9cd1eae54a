"""How far off a right answer may be: tightly bound, or as far as noise in every operation says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from grader.grading import Options, grade
from grader.kit import load_kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import read_submission
from grader.suite.compare import CheckFailed
from grader.suite.situations.rounding import GRADIENTS, OUTPUTS, Rounding
from grader.suite.tolerance import Noise, RoundToBfloat16
from tests.support.paths import ROOT

X = torch.randn(101, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
FAR = 1000.0  # what is added and taken away again


class Cancelling:
    """x + 1000 - 1000, and how often it was computed."""

    def __init__(self) -> None:
        self.computed = 0

    def __call__(self, dtype: torch.dtype, noise: Noise | None) -> Mapping[str, Tensor]:
        self.computed += 1
        with noise or nullcontext():
            return {"y": X.to(dtype) + FAR - FAR}


def rounding(
    compute: Callable[[torch.dtype, Noise | None], Mapping[str, Tensor]],
    dtype: torch.dtype = torch.float32,
    quantity: int = OUTPUTS,
    overflows: bool = False,
    kink: bool = False,
    **right: Tensor,
) -> Rounding:
    where = overflows, lambda: kink
    return Rounding({"y": X, **right}, compute, quantity, dtype, 0.0, False, *where, {})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_what_is_near_costs_nothing(dtype: torch.dtype) -> None:
    compute = Cancelling()
    rounding(compute, dtype).expect_near(X.to(dtype), "y", "output")
    assert not compute.computed


@pytest.mark.parametrize("times", [1, 200])
def test_as_far_as_rounding_takes_it_is_right(times: int) -> None:
    """Another order of operations; what is 200 times as far off is wrong."""
    there = (X.float() - FAR + FAR).double()
    got = (X + times * (there - X)).float()
    one = rounding(Cancelling())
    if times == 1:
        one.expect_near(got, "y", "output")
        assert not one.left_out
    else:
        with pytest.raises(CheckFailed, match="values differ"):
            one.expect_near(got, "y", "output")


def test_what_is_seen_at_once_needs_no_noise() -> None:
    compute = Cancelling()
    with pytest.raises(CheckFailed):
        rounding(compute).expect_near(X.flip(0).float() * 100, "y", "output")
    assert compute.computed == 2  # in float32 and in bfloat16


@pytest.mark.parametrize(("dtype", "times"), [(torch.float32, 3), (torch.bfloat16, 10)])
def test_of_what_rounding_leaves_nothing_little_is_asked(dtype: torch.dtype, times: int) -> None:
    """It is counted, and held to what rounding may make of it all the same."""

    def noisy(dtype: torch.dtype, noise: Noise | None) -> Mapping[str, Tensor]:
        return {"y": torch.full((3,), 0.1, dtype=dtype), "z": X.to(dtype)}

    one = rounding(noisy, dtype, GRADIENTS, y=torch.zeros(3, dtype=torch.float64), z=X)
    one.expect_near(torch.full((3,), times * 0.1), "y", "gradient of y")
    assert one.left_out == ["y"]
    with pytest.raises(CheckFailed):
        one.expect_near(torch.full((3,), 30.0), "y", "gradient of y")


@pytest.mark.parametrize(("kink", "share"), [(True, 0.03), (True, 0.3), (False, 0.03)])
def test_near_a_kink_a_gradient_may_jump_as_far_as_that_of_bfloat16(
    kink: bool, share: float
) -> None:
    """Noise as small as that of float32 takes it across no kink."""
    jump = torch.zeros(101, dtype=torch.float64)
    jump[7] = X.norm()

    def jumping(dtype: torch.dtype, noise: Noise | None) -> Mapping[str, Tensor]:
        return {"y": X.to(dtype) + 0.05 * jump * isinstance(noise, RoundToBfloat16)}

    one = rounding(jumping, quantity=GRADIENTS, kink=kink)
    got = (X + share * jump).float()
    if kink and share < 0.05:
        one.expect_near(got, "y", "gradient of y")
    else:
        with pytest.raises(CheckFailed):
            one.expect_near(got, "y", "gradient of y")


@pytest.mark.parametrize("overflows", [True, False])
def test_where_scores_overflow_bfloat16_may_be_right_by_luck(overflows: bool) -> None:
    """Which of them is the largest is then asked of noise, and a value that hangs on it counts."""

    def lucky(dtype: torch.dtype, noise: Noise | None) -> Mapping[str, Tensor]:
        if noise is None or isinstance(noise, RoundToBfloat16):
            return {"y": X.to(dtype) + 0.02 * X.flip(0)}
        return {"y": X.flip(0)}

    one = rounding(lucky, overflows=overflows)
    if overflows:
        one.expect_near(3 * X.float(), "y", "output")
        assert one.left_out == ["y"]
    else:
        with pytest.raises(CheckFailed):
            one.expect_near(3 * X.float(), "y", "output")


@pytest.mark.parametrize(("name", "most"), [("exercise3", 3), ("exercise6", 20), ("decoder6", 10)])
def test_nearly_all_gradients_are_told_by_their_values(
    name: str, most: int, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of more than a hundred; what is left out are those that rounding leaves nothing of."""
    each: list[tuple[Rounding, str]] = []

    class Counted(Rounding):
        def expect_near(self, got: Tensor, name: str, what: str) -> None:
            super().expect_near(got, name, what)
            each.append((self, name))

    monkeypatch.setattr("grader.suite.situations.trying.Rounding", Counted)
    exercise = load_kit(ROOT).find(name)
    options = Options(11, "cpu", explain=Explain.NOTHING)
    report = grade(read_submission(exercise.solution), exercise, options, sandbox)
    assert report.solved
    gradients = [(one, name) for one, name in each if one.quantity == GRADIENTS]
    assert len(gradients) > 100
    assert sum(name in one.left_out for one, name in gradients) <= most
