# wrong: of more than 8 heads of more than one feature the ninth and later ones meet wrong columns of unify_heads: it is applied to 8 heads at a time, and columns are counted in heads, not in features
# breaks: "concatenated in order, then ``unify_heads``"
from math import sqrt

import torch
from torch import Tensor, nn

TOGETHER = 8  # heads


class MultiHeadSelfAttention(nn.Module):
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
        H, D = self.num_heads, x.size(-1) // self.num_heads
        layers = self.to_queries, self.to_keys, self.to_values
        q, k, v = (one(x).unflatten(-1, (H, D)).transpose(1, 2) for one in layers)
        weights = (q @ k.mT / sqrt(D)).softmax(dim=-1)
        mixed = weights @ v  # (B, H, T, D)
        out = torch.zeros_like(x)
        for first in range(0, H, TOGETHER):
            heads = mixed[:, first : first + TOGETHER].transpose(1, 2).flatten(2)
            columns = self.unify_heads.weight[:, first : first + heads.size(-1)]
            out = out + heads @ columns.mT
        return out


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ff(x))
