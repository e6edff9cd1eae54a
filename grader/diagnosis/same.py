"""Whether two tensors are the same numbers but for rounding."""

from __future__ import annotations

from math import isfinite

import torch
from torch import Tensor


def same(one: Tensor, other: Tensor, tolerance: float) -> bool:
    """Whether two tensors agree, NaN with NaN and infinity with infinity.

    Args:
        one: Any shape and float dtype.
        other: The same dtype.
        tolerance: Relative to the largest value of ``other``, or to 1 where all are smaller.
    """
    if one.shape != other.shape:
        return False
    if not other.numel():
        return True
    gap = float((one - other).abs().max())
    if isfinite(gap):
        return gap <= tolerance * max(1.0, float(other.abs().max()))
    finite = torch.isfinite(other)
    if not torch.equal(torch.isfinite(one), finite):
        return False
    if not torch.equal(one[~finite].nan_to_num(nan=0.0), other[~finite].nan_to_num(nan=0.0)):
        return False
    return not bool(finite.any()) or same(one[finite], other[finite], tolerance)
