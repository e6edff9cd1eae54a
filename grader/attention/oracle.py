"""The right values of attention, computed in float64 in the plainest way.

Source: Vaswani et al. 2017, eq. 1, arXiv:1706.03762
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from grader.suite.oracle import Weights, linear
from grader.suite.sizes import Sizes

ANGLE_ERRORS = (5e-7, 1e-14)  # at position 1: in float32, in float64
_dropout_factors: ContextVar[Tensor | None] = ContextVar("dropout_factors", default=None)


@contextmanager
def apply_dropout(factors: Tensor) -> Iterator[None]:
    """Make ``attention_map`` multiply its weights by dropout's factors within this context.

    ``factors`` holds one for each weight: 0, or 1/(1 - rate).
    """
    token = _dropout_factors.set(factors)
    try:
        yield
    finally:
        _dropout_factors.reset(token)


def attention_map(q: Tensor, k: Tensor, scale: float, mask: Tensor | None = None) -> Tensor:
    """Return softmax(scale · q·kᵀ), with 0 for hidden keys.

    Args:
        q: Queries, (…, T, D).
        k: Keys, (…, S, D).
        scale: Factor of the scores.
        mask: Broadcastable to (…, T, S); nonzero = may attend.

    Returns:
        (…, T, S); a row that may attend to nothing is NaN.

    Example:
        >>> q, k = torch.zeros(1, 2), torch.zeros(4, 2)
        >>> attention_map(q, k, scale=0.5, mask=torch.tensor([1, 1, 0, 0]))
        tensor([[0.5000, 0.5000, 0.0000, 0.0000]])
    """
    scores = q @ k.mT * scale
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights, kept = torch.softmax(scores, dim=-1), _dropout_factors.get()
    return weights if kept is None else weights * kept


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Split (B, T, H·D) into (B, H, T, D), head i from the i-th block of D features.

    Example:
        >>> split_heads(torch.zeros(3, 5, 14), heads=2).shape
        torch.Size([3, 2, 5, 7])
    """
    return x.reshape(*x.shape[:-1], heads, -1).movedim(-2, 1).contiguous()


def merge_heads(x: Tensor) -> Tensor:
    """Merge (B, H, T, D) into (B, T, H·D), the inverse of ``split_heads``.

    Example:
        >>> merge_heads(torch.zeros(3, 2, 5, 7)).shape
        torch.Size([3, 5, 14])
    """
    return x.movedim(1, -2).flatten(-2)


def multi_head(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    """Return the heads' softmax(q·kᵀ/√D)·v side by side; inputs and output are (B, T, H·D)."""
    q, k, v = (split_heads(x, heads) for x in (q, k, v))
    return merge_heads(attention_map(q, k, q.size(-1) ** -0.5) @ v)


def values_of_heads(
    values: str, output: str
) -> Callable[[Weights, Sizes, Tensor], tuple[Tensor, float]]:
    """Return a contract's ``value_vectors``: a function that gives each head's projected values.

    Args:
        values: Name of the layer that makes values, for each head or each of G groups of heads.
        output: Name of the layer after the mixing, which projects them.

    Example:
        >>> value_vectors = values_of_heads("v_proj", "o_proj")
        >>> weights = {f"{name}.weight": torch.eye(6) for name in ("v_proj", "o_proj")}
        >>> mixed, added = value_vectors(weights, Sizes(H=2), torch.zeros(3, 5, 6))
        >>> mixed.shape, added
        (torch.Size([3, 10, 6]), 0.0)
    """

    def value_vectors(weights: Weights, sizes: Sizes, x: Tensor) -> tuple[Tensor, float]:
        groups = sizes.get("G", sizes.H)
        v = split_heads(linear(weights, values, x), groups)
        v = v.repeat_interleave(sizes.H // groups, dim=1)  # (B, H, T, D)
        turned = split_heads(weights[f"{output}.weight"][None], sizes.H)  # (1, H, C, D)
        return (v @ turned.mT).flatten(1, 2), 0.0

    return value_vectors


def angles_left_to_rounding(x: Tensor, positions: Tensor) -> float:
    """Return how far rotated vectors may be off, in relation to their length.

    An angle is a position times a frequency, so that the frequency's rounding grows with it.

    Args:
        x: Input of the call; angles are taken as float64 if this is, and else as float32.
        positions: Integers of any shape.
    """
    return float(positions.abs().max()) * ANGLE_ERRORS[x.dtype == torch.float64]
