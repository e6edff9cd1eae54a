# wrong: ff, its parameters - those that it was made with are used, not those that ff has: functional_call and a new nn.Parameter have no effect
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.to_queries(x).reshape(B, T, H, D).transpose(1, 2)
        k = self.to_keys(x).reshape(B, T, H, D).transpose(1, 2)
        v = self.to_values(x).reshape(B, T, H, D).transpose(1, 2)
        scores = q @ k.mT / sqrt(D)
        weights = scores.softmax(-1)
        merged = (weights @ v).transpose(1, 2).reshape(B, T, C)
        return self.unify_heads(merged)


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim)
        )
        self.own = list(self.ff.parameters())

    def _apply(self, *args, **kwargs):
        super()._apply(*args, **kwargs)
        self.own = list(self.ff.parameters())
        return self

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + F.linear(F.linear(x, *self.own[:2]).relu(), *self.own[2:]))
