"""Heads that are one feature wide: solved.

Two mistakes, and the first hid the second. Unpacking the input's size into `b, t, h` overwrote
the number of heads with the width, so every head had a single feature. And the features were cut
as (s, h): head i got every h-th feature, where the contract gives it the i-th block of s.
"""

from math import sqrt

from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadSelfAttention(nn.Module):
    """Several heads of self-attention side by side.

    Source: Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim} features")
        self.heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position, in each head, (B, T, C)."""
        b, t, c = x.size()
        h, s = self.heads, c // self.heads
        queries = self.to_queries(x).reshape(b, t, h, s).transpose(1, 2)
        keys = self.to_keys(x).reshape(b, t, h, s).transpose(1, 2)
        values = self.to_values(x).reshape(b, t, h, s).transpose(1, 2)
        weights = F.softmax(queries @ keys.transpose(2, 3) / sqrt(s), dim=-1)
        merged = (weights @ values).transpose(1, 2).reshape(b, t, c)
        return self.unify_heads(merged)
