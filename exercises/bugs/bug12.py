"""Neighbours that swap their words.

A colleague reports: "For sentences of one token everything agrees with the reference. From two
tokens on it does not. It looks as if a token got pieces of its neighbours, always the same ones,
even where attention points at the token itself."

The contract is that of exercise5: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
"""

from math import sqrt

from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    """Several heads of self-attention side by side.

    Source: Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim} features")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, C) -> (B, H, T, D)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position, in each head, (B, T, C)."""
        q, k, v = map(self.split, (self.to_queries(x), self.to_keys(x), self.to_values(x)))
        scores = q @ k.transpose(-2, -1) / sqrt(q.size(-1))
        mixed = scores.softmax(dim=-1) @ v
        return self.unify_heads(mixed.reshape(x.shape))
