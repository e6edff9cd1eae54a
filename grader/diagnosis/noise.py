"""Noise in every operation of a source of ours, which shows the answers that rounding decides."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from grader.worker.seeing import OperationWatcher

# By how many roundings a number moves, up or down, at most: where that shows in an answer, another
# order of the same operations would show as well.
MAX_ROUNDINGS = 4
# Operations that give numbers as they were given, so that nothing is rounded.
_MOVING_NUMBERS = {
    "_to_copy", "amax", "amin", "cat", "clone", "constant_pad_nd", "contiguous", "copy", "cummax",
    "diagonal_copy", "embedding", "flip", "gather", "index", "index_put", "index_select",
    "masked_fill", "max", "maximum", "min", "minimum", "repeat", "roll", "scatter",
    "select_scatter", "slice_scatter", "sort", "stack", "topk", "tril", "triu", "where",
}  # fmt: skip


class NoisyOperations(OperationWatcher):
    """A dispatch mode that moves the numbers that each operation computes by a few roundings.

    Args:
        seed: Seed of the noise, which takes no random numbers from what is computed.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._dice = torch.Generator().manual_seed(seed)

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


def moved_by_rounding(tensor: Tensor, dice: torch.Generator | None = None) -> Tensor:
    """Return a tensor with each number off by at most ``MAX_ROUNDINGS``; others as they are."""
    if not tensor.is_floating_point() or tensor.device.type == "meta":
        return tensor
    wide = torch.promote_types(tensor.dtype, torch.float32)
    noise = torch.rand(tensor.shape, dtype=wide, generator=dice).to(tensor.device)
    rate = 2 * MAX_ROUNDINGS * torch.finfo(tensor.dtype).eps
    off = noise.sub_(0.5).mul_(rate).mul_(tensor.detach())
    return off.add_(tensor.detach()).to(tensor.dtype)


@cache
def _computes(func: Any) -> bool:
    """Return whether an operation computes the numbers of a new tensor."""
    is_alias = any(one.alias_info is not None for one in func._schema.returns)
    return not is_alias and func.overloadpacket.__name__ not in _MOVING_NUMBERS
