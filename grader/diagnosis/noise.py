"""Noise in every operation of a source of ours, which shows the answers that rounding decides."""

from __future__ import annotations

import random
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
NOISE_COUNT = 1_000_003  # shares that are stored; a prime, so that no two rows get the same
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
        if not _computes(func):
            return result
        if isinstance(result, Tensor):
            return self._moved(result)
        return tree_map_only(Tensor, self._moved, result)

    def _moved(self, tensor: Tensor) -> Tensor:
        """Return a tensor with noise in all but whole numbers: places and masks stay exact."""
        moved = moved_by_rounding(tensor, self._dice)
        return moved if moved is tensor else torch.where(tensor == tensor.round(), tensor, moved)


def moved_by_rounding(tensor: Tensor, dice: random.Random) -> Tensor:
    """Return a tensor with each number off by at most ``MAX_ROUNDINGS``; others as they are."""
    if not tensor.is_floating_point() or tensor.device.type == "meta":
        return tensor
    count, noise = tensor.numel(), _noise(tensor.dtype)
    if count >= NOISE_COUNT:
        noise = noise.repeat(2 + count // NOISE_COUNT)
    start = dice.randrange(len(noise) - count)
    here = noise[start : start + count].view(tensor.shape).to(tensor.device)
    return torch.addcmul(tensor.detach(), tensor.detach(), here)


@cache
def _noise(dtype: torch.dtype) -> Tensor:
    """Draw the noise of a dtype, once: the share of itself by which each number moves."""
    dice = torch.Generator().manual_seed(0)
    with _disable_current_modes():  # or noise would be added to the noise
        drawn = 2 * torch.rand(NOISE_COUNT, dtype=torch.float64, generator=dice) - 1
        return (drawn * (MAX_ROUNDINGS * torch.finfo(dtype).eps)).to(dtype)


@cache
def _computes(func: Any) -> bool:
    """Return whether an operation computes the numbers of a new tensor."""
    is_alias = any(one.alias_info is not None for one in func._schema.returns)
    return not is_alias and func.overloadpacket.__name__ not in _MOVING_NUMBERS
