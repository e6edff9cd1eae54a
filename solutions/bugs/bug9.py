"""It looked fine in the review: solved.

Five names that do not exist: `torch.vmm` for `torch.bmm`, an undefined `k` for `embed_dim`,
`nn.ReLu` for `nn.ReLU`, `self.atention`, and `fedforward` without its underscore. Python looks a
name up only when its line runs, so each hid behind the one before it: run the code before you
review it.
"""

from math import sqrt

import torch
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
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position, in each head, (B, T, C)."""
        B, T, C = x.size()
        H, D = self.num_heads, C // self.num_heads
        q, k, v = (
            layer(x).view(B, T, H, D).transpose(1, 2).reshape(B * H, T, D)
            for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        weights = F.softmax(torch.bmm(q, k.transpose(1, 2)) / sqrt(D), dim=2)
        mixed = torch.bmm(weights, v).view(B, H, T, D).transpose(1, 2)
        return self.unify_heads(mixed.reshape(B, T, C))


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each with a sum and a norm after it.

    Source: Vaswani et al. 2017, section 3.1, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Send ``x`` through attention and feed-forward, (B, T, C)."""
        attended = self.attention(x)
        x = self.norm1(attended + x)
        fed_forward = self.ff(x)
        return self.norm2(fed_forward + x)
