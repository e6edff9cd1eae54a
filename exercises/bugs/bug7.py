"""Heads that are one feature wide.

A colleague reports: "Whatever number of heads I ask for, the maps look like noise, and there are
far more of them than I asked for. And when I load weights that were trained elsewhere, nothing
fits, although all the shapes do."

The contract is that of exercise5: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
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
        h = self.heads
        b, t, h = x.size()
        s = self.to_queries.out_features // h
        queries = self.to_queries(x).reshape(b, t, s, h).permute(0, 3, 1, 2)
        keys = self.to_keys(x).reshape(b, t, s, h).permute(0, 3, 1, 2)
        values = self.to_values(x).reshape(b, t, s, h).permute(0, 3, 1, 2)
        weights = F.softmax(queries @ keys.transpose(2, 3) / sqrt(s), dim=-1)
        merged = (weights @ values).permute(0, 2, 3, 1).reshape(b, t, s * h)
        return self.unify_heads(merged)
