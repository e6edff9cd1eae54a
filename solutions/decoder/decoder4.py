"""Causal self-attention with linear biases (ALiBi): the further back a key, the lower its score.

A second way: slope·s in the place of -slope·(t - s). Both differ by the same number in all scores
of a query, which a softmax takes away; but slope·s grows with the length, and its rounding as well.
"""

from math import sqrt

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    """The slope of each head.

    Args:
        num_heads: H, at least 1.

    Returns:
        (H,), float32.

    Source: Press et al. 2022, section 3, and its authors' code, arXiv:2108.12409
    """
    power = 2 ** (num_heads.bit_length() - 1)  # the largest power of two that is at most H
    own = torch.arange(1, power + 1) * (8 / power)
    # Those of twice the power halve each of its steps, so every second one is new.
    between = torch.arange(1, 2 * (num_heads - power) + 1, 2) * (4 / power)
    return 2.0 ** -torch.cat([own, between])  # float32, whatever the model's dtype


class AlibiSelfAttention(nn.Module):
    """Multi-head self-attention that looks back only, and less the further back it looks.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``.

    Source: Press et al. 2022, section 3, arXiv:2108.12409
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        # An error, not an assert: python -O removes asserts.
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to itself and to what came before it in its own sequence.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C).
        """
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.k_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        v = self.v_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        scores = q @ k.mT / sqrt(D)  # (B, H, T, D) x (B, H, D, T) -> (B, H, T, T)
        # Made for this T, so no table ends. Slopes in a buffer would be rounded by `.bfloat16()`.
        slopes = alibi_slopes(H).to(x.device)
        positions = torch.arange(T, device=x.device)
        distance = positions[:, None] - positions  # (T, T): how far back; below 0 is still to come
        scores = scores - slopes[:, None, None] * distance  # (B, H, T, T) - (H, T, T), not scaled
        scores = scores.masked_fill(distance < 0, float("-inf"))
        # In bfloat16 the float32 biases have made the scores float32: back, or v does not fit.
        weights = scores.softmax(dim=-1).to(x.dtype)  # each query's row adds up to 1
        mixed = weights @ v  # (B, H, T, T) x (B, H, T, D) -> (B, H, T, D)
        merged = mixed.transpose(1, 2).reshape(B, T, C)  # (B, H, T, D) -> (B, T, H, D) -> (B, T, C)
        return self.o_proj(merged)
