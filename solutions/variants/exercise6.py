"""A transformer block: attention and feed-forward, each with a sum and a norm after it.

A second way to the attention: transposes and ``@``, as in the solution of exercise5; here einsum
names the axes (q and k count positions, h heads, d features). A second way to the block: norm
first, ``x + attention(norm1(x))``, is what most models since GPT-2 do, but another function.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    """H heads of softmax(q·kᵀ/√D)·v, concatenated in order, then ``unify_heads``; D = C/H.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Attend within each sequence of ``x``, (B, T, C) -> (B, T, C)."""
        H, D = self.num_heads, x.size(-1) // self.num_heads
        q = self.to_queries(x).unflatten(-1, (H, D))  # (B, T, C) -> (B, T, H, D)
        k = self.to_keys(x).unflatten(-1, (H, D))  # (B, T, C) -> (B, T, H, D)
        v = self.to_values(x).unflatten(-1, (H, D))  # (B, T, C) -> (B, T, H, D)
        # √D keeps the variance of a sum of D terms near 1.
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / sqrt(D)  # (B, H, T, T)
        weights = scores.softmax(dim=-1)  # over the keys: each query's row adds up to 1
        # The result has heads beside features again, so merging them needs no transpose.
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)  # (B, T, H, D)
        return self.unify_heads(mixed.flatten(-2))  # (B, T, H, D) -> (B, T, C)


class TransformerBlock(nn.Module):
    """One post-norm block of width C.

    Source: Vaswani et al. 2017, section 3.1, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        # Two norms, since each learns the scale and the shift of its own place.
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(),  # without it two linear layers are no more than one
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Send ``x`` through attention and feed-forward, (B, T, C) -> (B, T, C)."""
        # Each sublayer only adds to what came in: signal and gradient keep a way around it. The
        # norm comes after the sum, so that no sum grows from block to block.
        x = self.norm1(x + self.attention(x))  # attention lets positions exchange what they know
        return self.norm2(x + self.ff(x))  # ff works on each position alone
