"""Noise in every operation: what is right is computed again, each result rounded at random.

It is rounded as the answer's dtype rounds, so nothing is guessed: what cancels, what is steep and
what lies at a jump shows by itself. `situations/rounding.py` bounds by it what an answer may be
off, `benchmarks/rounding.py` measures by how much answers are.

Source: Monte Carlo arithmetic, Parker 1997; CADNA and Verificarlo do it for whole programs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map_only

SIGNS = 1_000_003  # a prime, so that no rows of a tensor are given the same ones


class Noise(TorchDispatchMode):
    """Meanwhile, the result of each operation is off by chance: by ε·√K, of K terms added up.

    Args:
        dtype: Whose ε is meant.
        seed: Draws.
        alike: Whether all rows of a result are off alike, as those of equal tokens are.
        is_exact: Whether no constant is rounded.
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
        return False  # else the first operation imports all of torch._dynamo, to switch it off

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry an operation out and round what it makes; what it only looks at stays."""
        args = tuple(self.constant(one) if isinstance(one, float) else one for one in args)
        out = func(*args, **(kwargs or {}))
        if _only_looks(func):
            return out
        if func is torch.ops.aten._softmax_backward_data.default:
            out = out - args[1] * self._off_in_rows(args[0] * args[1])
        times = _roundings(func._schema.name, args, out, 0.5 / self._eps)
        return _each(out, lambda one: self.shaken(one, times))

    def shaken(self, tensor: Tensor, times: float | Tensor = 1.0) -> Tensor:
        """A tensor whose numbers are each off by so many roundings."""
        if not tensor.is_floating_point():
            return tensor
        ups = self._signs(tensor.shape[-1:] if self._alike else tensor.shape)
        return tensor * (1 + ups * (self._eps * times))

    def _off_in_rows(self, terms: Tensor) -> Tensor:
        """By how much the sum of each row's terms is off."""
        size: Tensor = terms.abs().sum(-1, keepdim=True) * (self._eps * math.sqrt(terms.size(-1)))
        return size * self._signs(size.shape)

    def constant(self, number: float) -> float:
        """A number that float32 does not have: it may have been rounded to that in any dtype."""
        if self._is_exact or torch.tensor(number, dtype=torch.float32).item() == number:
            return number
        up = self._dice.random() < 0.5
        return number * (1 + (up - 0.5) * torch.finfo(torch.float32).eps)

    def _signs(self, shape: torch.Size) -> Tensor:
        """As many signs: from a place that is drawn among those that are drawn once."""
        count, signs = shape.numel(), _drawn_signs()
        if count >= SIGNS:
            signs = signs.repeat(2 + count // SIGNS)
        start = self._dice.randrange(min(SIGNS, len(signs) - count))
        return signs[start : start + count].view(shape)


class Coarse(Noise):
    """Meanwhile, the result of each operation in float32 is rounded as bfloat16 rounds it.

    So it is as far off as in bfloat16, which takes ten times as long where much is multiplied.
    """

    def __init__(self) -> None:
        super().__init__(torch.bfloat16, 0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry an operation out and round what it makes; what it only looks at stays."""
        out = func(*args, **(kwargs or {}))
        return out if _only_looks(func) else _each(out, self.shaken)

    def shaken(self, tensor: Tensor, times: float | Tensor = 1.0) -> Tensor:
        """A tensor whose numbers are rounded."""
        return tensor.bfloat16().to(tensor.dtype) if tensor.is_floating_point() else tensor

    def constant(self, number: float) -> float:
        """As it is: no operation keeps numbers in bfloat16."""
        return number


def _each(out: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """What an operation gives, each tensor of it changed; most give one alone."""
    return change(out) if isinstance(out, Tensor) else tree_map_only(Tensor, change, out)


@cache
def _only_looks(func: Any) -> bool:
    """Whether an operation makes nothing, but looks at what there is, or fills it."""
    return any(one.alias_info is not None for one in func._schema.returns)


@cache
def _drawn_signs() -> Tensor:
    """Ups and downs, drawn once: drawing takes longer than what is computed with them."""
    dice = torch.Generator().manual_seed(0)
    with _disable_current_modes():  # or who is first would have them off by noise of its own
        return 2 * torch.randint(0, 2, (SIGNS,), generator=dice, dtype=torch.float64) - 1


def _roundings(name: str, args: Any, out: Any, most: float) -> float | Tensor:
    """By how many roundings a result is off: of the terms that each number of it adds up.

    Args:
        name: Of the operation.
        args: What it was given.
        out: What it gives.
        most: As many take a number to half as much, or to as much again by half.
    """
    given = [one for one in args if isinstance(one, Tensor)]
    if not given or not isinstance(out, Tensor) or not out.numel():
        return 1.0
    if name.endswith("softmax"):  # exp(score - what they add up to): of as large numbers
        scores = given[0].detach().abs().nan_to_num(posinf=0.0)
        return (1 + scores.amax(-1, keepdim=True)).clamp_(max=most)
    if "mm" in name:  # mm, bmm, addmm, baddbmm
        return math.sqrt(given[-1].size(-2))
    return math.sqrt(max(given[0].numel() / out.numel(), 1.0))


class Gap(NamedTuple):
    """How far two tensors are apart.

    Attributes:
        largest: The largest difference; infinity where one of two numbers alone is not finite.
        length: Of all differences: the root of the sum of their squares.
    """

    largest: float = 0.0
    length: float = 0.0

    @classmethod
    def between(cls, got: Tensor, right: Tensor) -> Gap:
        """Between what came and what should have come."""
        yours = got.detach().double().cpu()
        same = (yours == right) | (yours.isnan() & right.isnan())
        off = torch.where(same, 0.0, (yours - right).abs()).nan_to_num(
            nan=math.inf, posinf=math.inf
        )
        return cls(float(off.max()), float(off.norm())) if off.numel() else cls()
