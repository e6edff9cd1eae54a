# right: loops over sequences and heads, the feed-forward token by token
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) is not divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        h, d = self.num_heads, self.head_dim

        out = []
        for n in range(b):
            q, k, v = (f(x[n]).split(d, 1) for f in (self.to_queries, self.to_keys, self.to_values))
            out.append(torch.cat([torch.softmax(qi @ ki.T / math.sqrt(d), 1) @ vi for qi, ki, vi in zip(q, k, v)], 1))
        return self.unify_heads(torch.stack(out))


class TransformerBlock(nn.Module):
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
        rows = []
        for seq in x:
            y = self.norm1(seq + self.attention(seq[None])[0])
            rows.append(torch.stack([self.norm2(token + self.ff(token)) for token in y]))
        return torch.stack(rows)
