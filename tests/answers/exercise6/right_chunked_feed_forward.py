# unusual: feed-forward token block by token block, and attention computed on a (T, B, C) layout
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim} features")
        self.h = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(0, 1)                                   # (T, B, C)
        T, B, C = x.shape
        d = C // self.h

        def fold(t: Tensor) -> Tensor:                          # (B*H, T, D)
            return t.reshape(T, B * self.h, d).transpose(0, 1)

        q, k, v = fold(self.to_queries(x)), fold(self.to_keys(x)), fold(self.to_values(x))
        w = torch.bmm(q * d**-0.5, k.transpose(1, 2)).softmax(dim=-1)
        y = torch.bmm(w, v).transpose(0, 1).reshape(T, B, C)
        return self.unify_heads(y).transpose(0, 1)


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return torch.cat([self.norm2(t + self.ff(t)) for t in x.split(16, dim=1)], dim=1)
