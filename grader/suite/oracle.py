"""The right values, in float64 and straightforward; each function takes a submission's weights.

Source: Vaswani et al. 2017, eq. 1, arXiv:1706.03762
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

Weights = dict[str, Tensor]


def right_weights(weights: Mapping[str, Tensor]) -> Weights:
    """The same in float64, on the CPU, as all that is right is computed."""
    return {name: w.detach().double().cpu() for name, w in weights.items()}


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    """What ``nn.Linear`` of this name gives, (…, in) -> (…, out)."""
    out = x @ weights[f"{name}.weight"].mT
    return out + weights[f"{name}.bias"] if f"{name}.bias" in weights else out


def attention_map(q: Tensor, k: Tensor, scale: float, mask: Tensor | None = None) -> Tensor:
    """softmax(scale · q·kᵀ), hidden keys at 0.

    Args:
        q: Queries, (…, T, D).
        k: Keys, (…, S, D).
        scale: What the scores are multiplied by.
        mask: Broadcastable to (…, T, S); nonzero = may attend.

    Returns:
        (…, T, S); a row that may attend to nothing is NaN.
    """
    scores = q @ k.mT * scale
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, T, H·D) -> (B, H, T, D), head i from the i-th block of D features."""
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, D) -> (B, T, H·D), the way back."""
    return torch.cat(list(x.unbind(dim=1)), dim=-1)


def multi_head(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v side by side, each (B, T, H·D) -> (B, T, H·D)."""
    q, k, v = (split_heads(x, heads) for x in (q, k, v))
    return merge_heads(attention_map(q, k, q.size(-1) ** -0.5) @ v)


def layer_norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    """What ``nn.LayerNorm`` of this name gives over the last dimension, (…, C) -> (…, C)."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    normed = centred / torch.sqrt(variance + 1e-5)
    return normed * weights[f"{name}.weight"] + weights[f"{name}.bias"]
