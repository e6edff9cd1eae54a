"""Comparisons that fail a check, with what was expected, what came instead, and where."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from grader.records import Difference
from grader.wire.values import type_name

# Tolerance for rounding in another order of operations, relative to the largest expected value
# (a sum of large terms may end near 0). The known mistakes differ by 1e-3 and more.
TOLERANCE_BY_DTYPE = {
    torch.float64: 1e-6,  # 1/√D may have been rounded to float32
    torch.float32: 2e-5,
    torch.bfloat16: 0.1,  # 8 bits of mantissa, rounded half a dozen times and more
}
# Factor on the tolerance of float32 on another device. TF32 is switched off there before a
# submission is loaded, so products are as exact as on the CPU; but for `exp`, `tanh`, `sin` and
# `rsqrt` CUDA promises two units in the last place (Programming Guide, "Mathematical Functions"),
# where the CPU is off by one. The tolerances of float64 and bfloat16 cover either.
TOLERANCE_FACTOR_BY_DEVICE = {"cuda": 2.0}
_tolerance_factor: ContextVar[float] = ContextVar("tolerance_factor", default=1.0)


@dataclass(frozen=True)
class Comparison:
    """Values that were compared and differ.

    Attributes:
        what: Name of the values, such as ``output``.
        got: The submission's values.
        expected: The right values, float64, on the CPU.
        allowed: The largest difference that would have passed.
    """

    what: str
    got: Tensor
    expected: Tensor
    allowed: float


class CheckFailed(AssertionError):
    """A check's claim does not hold.

    Attributes:
        difference: Where the compared values differ the most; None if no values were compared.
        comparison: The compared values; None likewise.
    """

    def __init__(
        self,
        message: str,
        difference: Difference | None = None,
        comparison: Comparison | None = None,
    ) -> None:
        super().__init__(message)
        self.difference = difference
        self.comparison = comparison


@contextmanager
def computed_on(device: str) -> Iterator[None]:
    """Compare, inside the block, with the tolerances of a device such as ``cpu`` or ``cuda``."""
    token = _tolerance_factor.set(TOLERANCE_FACTOR_BY_DEVICE.get(device, 1.0))
    try:
        yield
    finally:
        _tolerance_factor.reset(token)


def fail(message: str) -> NoReturn:
    """Fail the check with a message.

    Example:
        >>> fail("output: expected one of the tokens")
        Traceback (most recent call last):
            ...
        grader.suite.compare.CheckFailed: output: expected one of the tokens
    """
    raise CheckFailed(message)


def expect(holds: bool, message: str) -> None:
    """Fail the check with a message unless something holds.

    Example:
        >>> expect(2 > 1, "output: expected two axes")
        >>> expect(1 > 2, "output: expected two axes")
        Traceback (most recent call last):
            ...
        grader.suite.compare.CheckFailed: output: expected two axes
    """
    if not holds:
        raise CheckFailed(message)


def expect_tensor(value: Any, shape: tuple[int, ...], what: str, sizes: str) -> Tensor:
    """Return a result, failing the check unless it is a Tensor of the right shape.

    Args:
        value: Result that the submission returned.
        shape: Shape that the result should have.
        what: Name of the result in the message, such as ``output``.
        sizes: The shape in letters, such as ``(B, T, C)``.
    """
    if not isinstance(value, Tensor):
        fail(f"{what}: expected a Tensor of shape {sizes} = {shape}, got `{type_name(value)}`")
    if value.device.type == "meta":
        fail(f"{what}: expected values, got a Tensor on the `meta` device, which has none")
    if tuple(value.shape) != shape:
        fail(f"{what}: expected shape {sizes} = {shape}, got {tuple(value.shape)}")
    return value


def expect_tuple(value: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """Return a result as a tuple, failing the check unless it is a tuple or list of these parts."""
    if not isinstance(value, tuple | list):
        fail(f"expected a tuple of {len(names)} ({', '.join(names)}), got `{type_name(value)}`")
    if len(value) != len(names):
        fail(f"expected a tuple of {len(names)} ({', '.join(names)}), got {len(value)} parts")
    return tuple(value)


def expect_all_close(
    got: Mapping[str, Tensor],
    expected: Mapping[str, Tensor],
    suffix: str = "",
    tolerance: float | None = None,
) -> None:
    """Apply ``expect_close`` to each output; messages add a suffix such as ``under a mask``."""
    for name, right in expected.items():
        expect_close(got[name], right, f"{name} {suffix}".rstrip(), tolerance)


def expect_close(
    got: Tensor | None, expected: Tensor, what: str = "output", tolerance: float | None = None
) -> None:
    """Fail the check unless the submission's values are the right ones, up to a tolerance.

    Args:
        got: The submission's values, on any device, of any float dtype; None for a gradient that
            it lacks.
        expected: The right values, float64, of the same shape.
        what: Name of the values in the message.
        tolerance: Relative to the largest expected value, or to 1 where all are smaller; by
            default the tolerance of ``got``'s dtype.

    Example:
        >>> expect_close(torch.ones(2), torch.ones(2).double())
        >>> expect_close(torch.zeros(2), torch.ones(2).double(), "loss")
        Traceback (most recent call last):
            ...
        grader.suite.compare.CheckFailed: loss: 2 of 2 values differ
    """
    if got is None:
        fail(f"{what}: there is none")
    if got.shape != expected.shape:  # first of all: the one may be far larger
        fail(f"{what}: expected shape {tuple(expected.shape)}, got {tuple(got.shape)}")
    yours = got.detach().double().cpu()
    right = expected.detach().double().cpu()
    if not right.numel():
        return
    if got.dtype not in TOLERANCE_BY_DTYPE:
        name = str(got.dtype).removeprefix("torch.")
        fail(f"{what}: expected the dtype of the input, got {name}")
    rate = TOLERANCE_BY_DTYPE[got.dtype] if tolerance is None else tolerance
    rate *= _tolerance_factor.get() if got.dtype == torch.float32 else 1.0
    gap, largest = (yours - right).abs(), float(right.abs().max())
    if not math.isfinite(largest):
        gap = gap.masked_fill(yours == right, 0.0)  # as infinity is where it should be
        finite = right[right.isfinite()]
        largest = float(finite.abs().max()) if finite.numel() else 0.0
    allowed = rate * max(1.0, largest)
    if bool(gap.max() <= allowed):  # false also where something is NaN
        return
    gap = gap.nan_to_num(nan=float("inf"), posinf=float("inf"))
    worst, says = _unequal(yours, right, gap > allowed)
    wrong = int(worst.sum())
    if not wrong:
        return
    place = int(torch.where(worst, gap, -1.0).argmax())
    difference = Difference(
        name=what,
        largest=float(gap.flatten()[place]),
        allowed=allowed,
        index=tuple(int(i) for i in np.unravel_index(place, right.shape)),  # torch's imports sympy
        yours=float(yours.flatten()[place]),
        expected=float(right.flatten()[place]),
        wrong=wrong,
        total=right.numel(),
    )
    message = f"{what}: {wrong} of {right.numel()} values {says}"
    raise CheckFailed(message, difference, Comparison(what, got, right, allowed))


def _unequal(yours: Tensor, right: Tensor, wrong: Tensor) -> tuple[Tensor, str]:
    """Return a mask of the wrong values to report, and how they are wrong, in words.

    Where some are nan or infinite on either side, the mask leaves out those that only differ.
    """
    mine, theirs = yours.isfinite(), right.isfinite()
    if bool((~mine & theirs).any()):
        return ~mine & theirs, "are nan or infinite where they should be finite"
    if bool((mine & ~theirs).any()):
        return mine & ~theirs, "are finite where what they should equal is nan or infinite"
    if bool((wrong & ~mine).any()):
        return wrong & ~mine, "are nan or infinite, and so is what they should equal"
    return wrong, "differ"


def expect_integers(got: Tensor, expected: Tensor, what: str) -> None:
    """Fail the check unless an output consists of integers, all exactly right."""
    name = str(got.dtype).removeprefix("torch.")
    counts = not (got.is_floating_point() or got.is_complex() or got.dtype == torch.bool)
    expect(counts, f"{what}: expected integers, got {name}")
    wrong = got.cpu().long() != expected.long()
    if bool(wrong.any()):
        index = tuple(wrong.nonzero()[0].tolist())
        right, count = int(expected[index]), f"{int(wrong.sum())} of {wrong.numel()}"
        fail(f"{what}: expected {right} at {index}, got {int(got[index])} ({count} are wrong)")


def expect_floats(got: Tensor, what: str) -> None:
    """Fail the check unless an output consists of floats."""
    name = str(got.dtype).removeprefix("torch.")
    expect(got.is_floating_point(), f"{what}: expected floats, got {name}")


def expect_dtype(got: Tensor, dtype: torch.dtype, what: str) -> None:
    """Fail the check unless an output has the expected dtype."""
    wanted, there = (str(one).removeprefix("torch.") for one in (dtype, got.dtype))
    expect(got.dtype == dtype, f"{what}: expected dtype {wanted}, got {there}")


def may_be_none(right: Tensor) -> bool:
    """Return whether a right gradient is 0 throughout, so that what it is of may go unused."""
    return not bool(right.any())


def expect_gradient(got: Tensor | None, name: str) -> Tensor:
    """Return a gradient, failing the check if there is none.

    Example:
        >>> expect_gradient(torch.ones(2), "x")
        tensor([1., 1.])
        >>> expect_gradient(None, "x")
        Traceback (most recent call last):
            ...
        grader.suite.compare.CheckFailed: `x` gets no gradient: it is detached, frozen or ...
    """
    if got is None:
        fail(
            f"`{name}` gets no gradient: it is detached, frozen or unused on the way to the output"
        )
    return got


def expect_differs(got: Tensor, other: Tensor, what: str) -> None:
    """Fail the check if two outputs are the same although their inputs differ.

    Without this, a function that returns a constant would satisfy every relation.

    Example:
        >>> expect_differs(torch.ones(2), torch.zeros(2), "the output")
        >>> expect_differs(torch.ones(2), torch.ones(2), "the output")
        Traceback (most recent call last):
            ...
        grader.suite.compare.CheckFailed: the output: expected a difference, there is none
    """
    gap = (got.detach().double() - other.detach().double()).abs().max()
    expect(not bool(gap < 1e-3), f"{what}: expected a difference, there is none")


def expect_finite(got: Tensor, what: str = "output") -> None:
    """Fail the check if a value is NaN or infinite.

    Example:
        >>> expect_finite(torch.ones(2))
        >>> expect_finite(torch.tensor([1.0, float("nan")]))
        Traceback (most recent call last):
            ...
        grader.suite.compare.CheckFailed: output: expected finite values, got nan at (1,) (1 of 2)
    """
    bad = ~torch.isfinite(got.detach())
    if bool(bad.any()):
        index = tuple(bad.nonzero()[0].tolist())
        value = float(got.detach()[index])
        count = f"{int(bad.sum())} of {got.numel()}"
        fail(f"{what}: expected finite values, got {value} at {index} ({count})")
