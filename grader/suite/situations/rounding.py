"""Tolerances: a tight bound for each dtype, and where that fails, the effect of random noise.

Only if the tight bound fails is the right answer computed again as rounding may change it: in the
dtype under test, then with noise in every operation, including those of the backward. So no kind
of input, size or contract needs a bound of its own: results that cancel, are steep or lie at a jump
are as far off under noise too. Most wrong answers are even further off than bfloat16 makes the
right one, and that is quicker to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from grader.suite.compare import CheckFailed, expect_close, expect_finite
from grader.suite.tolerance import Gap, Noise, RoundToBfloat16

OUTPUTS, GRADIENTS = 0, 1
# Tolerances of outputs and of gradients, relative to the largest expected value. The key is the
# dtype, and whether it is certain that no constant, such as 1/√D, was rounded to float32.
TIGHT_TOLERANCES = {
    (torch.float32, False): (2e-5, 1e-4),
    (torch.float64, False): (1e-6, 1e-6),
    (torch.float64, True): (1e-10, 1e-9),
    (torch.bfloat16, False): (0.1, 0.1),
}
# How many times as far off as under noise a right answer may be. None was more than 1.6 times,
# except one that mixes x in the place of keys: 9 times, in float32; and in bfloat16 values that are
# left out, as runs of their noise differ: weights from a logsumexp were 10 times as far off as two.
MAX_TIMES_NOISE = 24
MAX_TIMES_NOISE_IN_BFLOAT16 = 3  # of a value that is not left out
MAX_NOISE_RUNS = 4  # in every second one, all rows are off alike

Tensors = Mapping[str, Tensor]


class Rounding:
    """The effect of rounding on the right outputs, or on the right gradients, of a situation.

    Args:
        right: The right values, by name.
        compute: Computes the right values in a dtype, with noise if some is given.
        quantity: ``OUTPUTS`` or ``GRADIENTS``.
        dtype: The dtype under test.
        extra_tolerance: The error allowed beyond rounding, relative to the largest value.
        is_exact: Whether no constant is rounded, in float64.
        overflows: Whether rounding decides which of some very large scores is the largest.
        near_a_kink: Returns whether rounding may decide on which side of a jump the values are.
        runs: Cache to which the results of runs are added.

    Attributes:
        right, quantity, dtype: As given.
        left_out: Names of values no larger than the error that rounding may cause: to compare them
            proves nothing.
    """

    def __init__(
        self,
        right: Tensors,
        compute: Callable[[torch.dtype, Noise | None], Tensors],
        quantity: int,
        dtype: torch.dtype,
        extra_tolerance: float,
        is_exact: bool,
        overflows: bool,
        near_a_kink: Callable[[], bool],
        runs: dict[Any, Any],
    ) -> None:
        self.right, self._compute = right, compute
        self.quantity, self.dtype = quantity, dtype
        self._rate = TIGHT_TOLERANCES[dtype, is_exact][quantity] + extra_tolerance
        self._is_exact = is_exact
        self._overflows, self._near_a_kink = overflows, near_a_kink
        self._runs = runs
        self.left_out: list[str] = []

    def expect_near(self, got: Tensor, name: str, what: str) -> None:
        """Fail the check unless rounding explains how far ``got`` is off the right ``name``."""
        right = self.right[name]
        try:
            expect_close(got, right, what, self._rate)
        except CheckFailed:
            expect_finite(got, what)
            if not self.is_rounding(name, Gap.between(got, right)):
                raise

    def is_rounding(self, name: str, off: Gap) -> bool:
        """Return whether rounding explains that the value ``name`` is off by ``off``.

        That is up to so many times as far as our own answer is off in this dtype or under noise.
        """
        most, step, right = Gap(), self._rounding_step(name), float(self.right[name].norm())
        usual = MAX_TIMES_NOISE_IN_BFLOAT16 if self.dtype == torch.bfloat16 else MAX_TIMES_NOISE
        for seed in range(MAX_NOISE_RUNS + 1):
            most = Gap(*map(max, most, self.gap(name, torch.float64 if seed else self.dtype, seed)))
            is_left_out = usual * most.length >= right
            times = MAX_TIMES_NOISE if is_left_out else usual
            if all(a <= times * b + step for a, b in zip(off, most, strict=True)):
                self.left_out += [name] * is_left_out
                return True
            if not seed and (is_rounding := self._is_seen_at_once(name, off)) is not None:
                return is_rounding
            if seed > 1 and off.length > times**2 * most.length + step:
                break  # more noise would not reach this error either
        return False

    def _is_seen_at_once(self, name: str, off: Gap) -> bool | None:
        """Return what bfloat16 says of an error in a finer dtype: is it rounding? None: unsure.

        Most mistakes are further off than bfloat16 is. A gradient that jumps is not, and noise as
        small as the dtype's takes few values across a kink. Of very large scores, bfloat16 may find
        the largest by luck.
        """
        if self.dtype == torch.bfloat16 or self._overflows:
            return None
        coarse = self.gap(name, torch.bfloat16)
        if off.largest <= coarse.largest + self._rounding_step(name, torch.bfloat16):
            return True if self.quantity == GRADIENTS and self._near_a_kink() else None
        # Exact, it may be so by luck: the gradient of one-hot weights, say, is always 0.
        exact = torch.finfo(torch.bfloat16).eps / 8 * float(self.right[name].norm())
        return None if coarse.length <= exact else False

    def gap(self, name: str, dtype: torch.dtype, seed: int = 0) -> Gap:
        """Return our own error: of the right value in a dtype, with noise if ``seed`` is not 0."""
        if (run := (self.quantity, dtype, seed)) not in self._runs:
            self._runs[run] = self._run(dtype, seed)
        return Gap.between(self._runs[run][name], self.right[name])

    def _run(self, dtype: torch.dtype, seed: int) -> Tensors:
        if seed:
            return self._compute(dtype, Noise(self.dtype, seed, seed % 2 == 0, self._is_exact))
        if dtype == torch.bfloat16:
            return self._compute(torch.float32, RoundToBfloat16())
        return self._compute(dtype, None)

    def _rounding_step(self, name: str, dtype: torch.dtype | None = None) -> float:
        """Return the rounding step (ε) of the largest number of a value.

        For a gradient, that is the largest of all gradients: terms that cancel may be as large.
        """
        whole = self.right.values() if self.quantity else [self.right[name]]
        largest = max(float(one.abs().max()) for one in whole if one.numel())
        return torch.finfo(dtype or self.dtype).eps * largest
