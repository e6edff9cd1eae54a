# wrong: MultiHeadSelfAttention by itself, outside the block, works on the CPU alone: what it divides by is made there unless the block hands it over
# breaks: "on any device, even ``meta``"
from math import sqrt

import torch
from torch import Tensor, nn


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

    def forward(self, x: Tensor, root: Tensor | None = None) -> Tensor:
        D = x.size(-1) // self.num_heads
        if root is None:
            root = torch.tensor([sqrt(D)], dtype=x.dtype)
        layers = self.to_queries, self.to_keys, self.to_values
        q, k, v = (one(x).unflatten(-1, (self.num_heads, D)).transpose(1, 2) for one in layers)
        weights = (q @ k.mT / root).softmax(dim=-1)
        return self.unify_heads((weights @ v).transpose(1, 2).flatten(2))


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
        root = x.new_full((1,), sqrt(x.size(-1) // self.attention.num_heads))
        x = self.norm1(x + self.attention(x, root))
        return self.norm2(x + self.ff(x))
