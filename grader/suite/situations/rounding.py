"""How far off a right answer may be: a tight bound by its dtype, and beyond that, what noise says.

Only where the tight bound fails is what is right computed again as rounding makes it: in the dtype
that is tried, then with noise in every operation, on the way back as well. So no kind of input, no
size and no contract needs a bound of its own: what cancels, is steep or lies at a jump is as far
off under noise too. Most of what is wrong is further off than it would be in bfloat16, which is
computed sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from grader.suite.compare import CheckFailed, expect_close, expect_finite
from grader.suite.tolerance import Coarse, Gap, Noise

OUTPUTS, GRADIENTS = 0, 1
# Relative to the largest expected value: of outputs, of gradients; in float64 by whether no
# constant, such as 1/√D, may have been rounded to float32.
TIGHT = {
    (torch.float32, False): (2e-5, 1e-4),
    (torch.float64, False): (1e-6, 1e-6),
    (torch.float64, True): (1e-10, 1e-9),
    (torch.bfloat16, False): (0.1, 0.1),
}
ROUGH = 0.3  # of a gradient's length, as far off as bfloat16 may always be
# So many times as far off as under noise a right answer may be. None was more than 1.3 times, but
# one that mixes x in the place of keys: 9 times, in float32.
TIMES = {torch.float32: 24, torch.float64: 24, torch.bfloat16: 6}
SURELY = 4  # times as far off as our own in bfloat16: nothing else need be computed
RUNS = 4  # of noise at most; in every second one all rows are off alike
KINKED = 0.05  # of a gradient's length, where rounding decides on which side of a jump some are

Tensors = Mapping[str, Tensor]


class Rounding:
    """What rounding makes of the right outputs, or gradients, of a situation.

    Args:
        right: What is right, by name.
        compute: The same in a dtype, with noise where some is given.
        place: ``OUTPUTS`` or ``GRADIENTS``.
        dtype: That is tried.
        slack: By how much more than by rounding they may be off, relative to the largest.
        is_exact: Whether no constant is rounded, in float64.
        near_a_kink: Tells whether rounding may decide on which side of a jump they are.
        runs: What was computed, to be kept.

    Attributes:
        right, place, dtype: As given.
        left_out: Names of those that are next to nothing beside what rounding may make of them.
    """

    def __init__(
        self,
        right: Tensors,
        compute: Callable[[torch.dtype, Noise | None], Tensors],
        place: int,
        dtype: torch.dtype,
        slack: float,
        is_exact: bool,
        near_a_kink: Callable[[], bool],
        runs: dict[Any, Any],
    ) -> None:
        self.right, self._compute = right, compute
        self.place, self.dtype = place, dtype
        self._rate, self._is_exact = TIGHT[dtype, is_exact][place] + slack, is_exact
        self._near_a_kink, self._runs = near_a_kink, runs
        self.left_out: list[str] = []

    def expect_near(self, got: Tensor, name: str, what: str) -> None:
        """Fail where a value, of a name in the message, is further off than rounding takes it."""
        right = self.right[name]
        try:
            expect_close(got, right, what, self._rate)
        except CheckFailed:
            expect_finite(got, what)
            if not self.is_rounding(name, Gap.between(got, right)):
                raise

    def is_rounding(self, name: str, off: Gap) -> bool:
        """Whether rounding takes a value as far; of gradients in bfloat16, little is asked."""
        share = off.length / max(float(self.right[name].norm()), off.length)
        if self.place == GRADIENTS and self.dtype == torch.bfloat16 and share <= ROUGH:
            return True
        # Noise crosses few kinks.
        has_jumped = self.place == GRADIENTS and share <= KINKED and self._near_a_kink()
        return has_jumped or self._is_noise(name, off)

    def _is_beyond_doubt(self, name: str, off: Gap, times: int = 1) -> bool:
        """Whether not even bfloat16 is as far off: most of what is wrong is seen at once."""
        if self.dtype == torch.bfloat16:
            return False
        coarse = self.gap(name, torch.bfloat16)
        if coarse.length <= torch.finfo(torch.bfloat16).eps / 8 * float(self.right[name].norm()):
            return False  # by luck: of one-hot weights, say, a gradient is 0 in any dtype
        return off.largest > times * coarse.largest + self._least(name, torch.bfloat16)

    def _is_noise(self, name: str, off: Gap) -> bool:
        """Whether it is at most so many times as far off as one of more and more runs."""
        if self._is_beyond_doubt(name, off, SURELY):
            return False
        most, least, times = Gap(), self._least(name), TIMES[self.dtype]
        for seed in range(RUNS + 1):
            most = Gap(*map(max, most, self.gap(name, torch.float64 if seed else self.dtype, seed)))
            if all(a <= times * b + least for a, b in zip(off, most, strict=True)):
                self.left_out += [name] * (times * most.length >= float(self.right[name].norm()))
                return True
            if not seed and self._is_beyond_doubt(name, off):
                break
            if seed > 1 and off.length > times**2 * most.length + least:
                break  # nor will other noise take it there
        return False

    def gap(self, name: str, dtype: torch.dtype, seed: int = 0) -> Gap:
        """How far off a value is where it is computed so, with noise where it has a seed."""
        if (run := (self.place, dtype, seed)) not in self._runs:
            self._runs[run] = self._run(dtype, seed)
        return Gap.between(self._runs[run][name], self.right[name])

    def _run(self, dtype: torch.dtype, seed: int) -> Tensors:
        if seed:
            return self._compute(dtype, Noise(self.dtype, seed, seed % 2 == 0, self._is_exact))
        if dtype == torch.bfloat16:
            return self._compute(torch.float32, Coarse())
        return self._compute(dtype, None)

    def _least(self, name: str, dtype: torch.dtype | None = None) -> float:
        """A rounding of the largest; of all gradients: terms that cancel may be as large."""
        whole = self.right.values() if self.place else [self.right[name]]
        largest = max(float(one.abs().max()) for one in whole if one.numel())
        return torch.finfo(dtype or self.dtype).eps * largest
