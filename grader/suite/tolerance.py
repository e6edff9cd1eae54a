"""Noise in every operation: the oracle is run again, with each result rounded at random.

The noise is as large as the rounding of the answer's dtype, so no error has to be estimated:
cancellation, steep functions and jumps show by themselves. `situations/rounding.py` derives from it
how far off an answer may be, `benchmarks/rounding.py` measures how far off answers are.

Source: Monte Carlo arithmetic, Parker 1997; CADNA and Verificarlo do it for whole programs.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from grader.diagnosis.noise import STORED_COUNT, map_tensors, random_stretch, returns_alias


class Noise(TorchDispatchMode):
    """A dispatch mode that changes each operation's result at random, by ε·√K for K terms summed.

    Args:
        dtype: Dtype whose ε is used.
        seed: Seed of the noise.
        alike: Whether all rows of a result get the same noise, as those of equal tokens would.
        is_exact: Whether constants are exact, so that they get no noise.
    """

    def __init__(
        self, dtype: torch.dtype, seed: int, alike: bool = False, is_exact: bool = False
    ) -> None:
        super().__init__()
        self._eps = torch.finfo(dtype).eps
        self._dice = random.Random(seed)
        self._alike = alike
        self._is_exact = is_exact

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first operation imports all of torch._dynamo to disable it

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation and, if it makes a new tensor, add noise to that."""
        args = tuple(self.constant(one) if isinstance(one, float) else one for one in args)
        out = func(*args, **(kwargs or {}))
        if returns_alias(func):
            return out
        if func is torch.ops.aten._softmax_backward_data.default:
            out = out - args[1] * self._off_in_rows(args[0] * args[1])
        times = _error_in_eps(func._schema.name, args, out, 0.5 / self._eps)
        return map_tensors(out, lambda one: self.perturbed(one, times))

    def perturbed(self, tensor: Tensor, times: float | Tensor = 1.0) -> Tensor:
        """Return a tensor with each number off by ``times`` · ε of itself, up or down at random."""
        if not tensor.is_floating_point():
            return tensor
        ups = self._signs(tensor.shape[-1:] if self._alike else tensor.shape)
        return tensor * (1 + ups * (self._eps * times))

    def _off_in_rows(self, terms: Tensor) -> Tensor:
        """Draw the error, by rounding, of the sum of each row's terms."""
        size: Tensor = terms.abs().sum(-1, keepdim=True) * (self._eps * math.sqrt(terms.size(-1)))
        return size * self._signs(size.shape)

    def constant(self, number: float) -> float:
        """Return a constant, with noise if float32 rounds it, as a right submission may do."""
        if self._is_exact or torch.tensor(number, dtype=torch.float32).item() == number:
            return number
        up = self._dice.random() < 0.5
        return number * (1 + (up - 0.5) * torch.finfo(torch.float32).eps)

    def _signs(self, shape: torch.Size) -> Tensor:
        """Return random signs of this shape."""
        return random_stretch(_drawn_signs(), shape, self._dice)


class RoundToBfloat16(Noise):
    """A dispatch mode that rounds the result of each float32 operation to bfloat16.

    Results are as far off as in bfloat16, which takes ten times as long for large products.
    Inputs are off by a step first: equal ones might be exact by luck, as the mean of a constant is.
    """

    def __init__(self) -> None:
        super().__init__(torch.bfloat16, 0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation and, if it makes a new tensor, round that."""
        out = func(*args, **(kwargs or {}))
        return out if returns_alias(func) else map_tensors(out, _rounded_to_bfloat16)

    def perturbed(self, tensor: Tensor, times: float | Tensor = 1.0) -> Tensor:
        """Return a tensor with each number off by a step of bfloat16, in its own dtype."""
        return _rounded_to_bfloat16(super().perturbed(tensor, times).to(tensor.dtype))

    def constant(self, number: float) -> float:
        """Return the constant as it is: operations do not keep their constants in bfloat16."""
        return number


def _rounded_to_bfloat16(tensor: Tensor) -> Tensor:
    return tensor.bfloat16().to(tensor.dtype) if tensor.is_floating_point() else tensor


@cache
def _drawn_signs() -> Tensor:
    """Draw random signs, once: drawing takes longer than computing with them."""
    dice = torch.Generator().manual_seed(0)
    with _disable_current_modes():  # or the signs would get the noise that they are for
        return 2 * torch.randint(0, 2, (STORED_COUNT,), generator=dice, dtype=torch.float64) - 1


def _error_in_eps(name: str, args: Any, out: Any, most: float) -> float | Tensor:
    """Return by how many times ε a result is off, estimated from how many terms it sums.

    That of a softmax is limited: ``most`` times ε change a number by half of itself.
    """
    given = [one for one in args if isinstance(one, Tensor)]
    if not given or not isinstance(out, Tensor) or not out.numel():
        return 1.0
    if name.endswith("softmax"):  # exp(score - logsumexp): the larger its terms, the further off
        scores = given[0].detach().abs().nan_to_num(posinf=0.0)
        return (1 + scores.amax(-1, keepdim=True)).clamp_(max=most)
    if "mm" in name:  # mm, bmm, addmm, baddbmm
        return math.sqrt(given[-1].size(-2))
    return math.sqrt(max(given[0].numel() / out.numel(), 1.0))


class Gap(NamedTuple):
    """How far two tensors are apart.

    Attributes:
        largest: The largest difference; infinity where one of two numbers alone is not finite.
        length: The root of the sum of the squares of all differences.
    """

    largest: float = 0.0
    length: float = 0.0

    @classmethod
    def between(cls, got: Tensor, right: Tensor) -> Gap:
        """Return the gap between a submission's tensor and the right one."""
        yours = got.detach().double().cpu()
        same = (yours == right) | (yours.isnan() & right.isnan())
        off = torch.where(same, 0.0, (yours - right).abs()).nan_to_num(
            nan=math.inf, posinf=math.inf
        )
        return cls(float(off.max()), float(off.norm())) if off.numel() else cls()
