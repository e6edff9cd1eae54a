# right: attention by online softmax over blocks of 37 keys
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

        q, k, v = (f(x).reshape(b, t, h, d).transpose(1, 2) for f in (self.to_queries, self.to_keys, self.to_values))
        top = total = acc = None
        for ks, vs in zip(k.split(37, 2), v.split(37, 2)):
            s = q @ ks.mT / math.sqrt(d)
            m = s.amax(-1, keepdim=True).detach()
            if top is None:
                top, e = m, (s - m).exp()
                total, acc = e.sum(-1, keepdim=True), e @ vs
                continue
            new = torch.maximum(top, m)
            f, e = (top - new).exp(), (s - new).exp()
            total, acc, top = total * f + e.sum(-1, keepdim=True), acc * f + e @ vs, new
        return self.unify_heads((acc / total).transpose(1, 2).flatten(2))


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
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ff(x))
