"""Noise in every operation of a source of ours, which shows the answers that rounding decides.

What any such noise is made of is here as well: ``grader.suite.tolerance`` has another one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map_only

from grader.worker.seeing import OperationWatcher

# By how many roundings a number moves, up or down, at most: where that shows in an answer, another
# order of the same operations would show as well.
MAX_ROUNDINGS = 4
STORED_COUNT = 1_000_003  # random numbers stored; a prime, so that no two rows get the same
# Operations that give numbers as they were given, so that nothing is rounded.
_MOVING_NUMBERS = {
    "_to_copy", "amax", "amin", "cat", "clone", "constant_pad_nd", "contiguous", "copy", "cummax",
    "diagonal_copy", "embedding", "flip", "gather", "index", "index_put", "index_select",
    "masked_fill", "max", "maximum", "min", "minimum", "repeat", "roll", "scatter",
    "select_scatter", "slice_scatter", "sort", "stack", "topk", "tril", "triu", "where",
}  # fmt: skip


class NoisyOperations(OperationWatcher):
    """A dispatch mode that moves the numbers that each operation computes by a few roundings."""

    def __init__(self) -> None:
        super().__init__()
        self._dice = random.Random(0)  # so that no random number is taken from what is computed

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carry out an operation; return its result with noise, if it computed a new tensor."""
        result = func(*args, **kwargs)
        return map_tensors(result, self._moved) if _computes(func) else result

    def _moved(self, tensor: Tensor) -> Tensor:
        """Return a tensor with noise in all but whole numbers: places and masks stay exact.

        Not those so large that the dtype has whole numbers alone there.
        """
        moved = moved_by_rounding(tensor, self._dice)
        if moved is tensor:
            return tensor
        is_whole = (tensor == tensor.round()) & (tensor.abs() < 1 / torch.finfo(tensor.dtype).eps)
        return torch.where(is_whole, tensor, moved)


def moved_by_rounding(tensor: Tensor, dice: random.Random) -> Tensor:
    """Return a tensor with each number off by at most ``MAX_ROUNDINGS``; others as they are."""
    if not tensor.is_floating_point() or tensor.device.type == "meta":
        return tensor
    here = random_stretch(_noise(tensor.dtype), tensor.shape, dice).to(tensor.device)
    return torch.addcmul(tensor.detach(), tensor.detach(), here)


@cache
def _noise(dtype: torch.dtype) -> Tensor:
    """Draw the noise of a dtype, once: the share of itself by which each number moves."""
    dice = torch.Generator().manual_seed(0)
    with _disable_current_modes():  # or noise would be added to the noise
        drawn = 2 * torch.rand(STORED_COUNT, dtype=torch.float64, generator=dice) - 1
        return (drawn * (MAX_ROUNDINGS * torch.finfo(dtype).eps)).to(dtype)


@cache
def _computes(func: Any) -> bool:
    """Return whether an operation computes the numbers of a new tensor."""
    return not returns_alias(func) and func.overloadpacket.__name__ not in _MOVING_NUMBERS


@cache
def returns_alias(func: Any) -> bool:
    """Return whether an operation returns a view of a tensor, or one that it wrote into."""
    return any(one.alias_info is not None for one in func._schema.returns)


def map_tensors(result: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return an operation's result with each tensor changed; most results are a single tensor."""
    if isinstance(result, Tensor):
        return change(result)
    return tree_map_only(Tensor, change, result)


def random_stretch(stored: Tensor, shape: torch.Size, dice: random.Random) -> Tensor:
    """Return a stretch of ``STORED_COUNT`` stored numbers in this shape, from a random start."""
    count = shape.numel()
    if count >= STORED_COUNT:
        stored = stored.repeat(2 + count // STORED_COUNT)
    start = dice.randrange(min(STORED_COUNT, len(stored) - count))
    return stored[start : start + count].view(shape)
