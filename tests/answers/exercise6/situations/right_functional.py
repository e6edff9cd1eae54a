# right: functional calls with the layers' tensors, weights joined anew in each call
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

        w = torch.stack([self.to_queries.weight, self.to_keys.weight, self.to_values.weight]).flatten(0, 1)
        q, k, v = F.linear(x, w).unflatten(-1, (3, h, d)).permute(2, 0, 3, 1, 4)
        s = torch.baddbmm(q.new_zeros(1), q.flatten(0, 1), k.flatten(0, 1).mT, beta=0, alpha=d**-0.5)
        y = torch.bmm(s.softmax(-1), v.flatten(0, 1)).unflatten(0, (b, h))
        return F.linear(y.transpose(1, 2).flatten(2), self.unify_heads.weight)


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
        y = F.layer_norm(x + self.attention(x), x.shape[-1:], self.norm1.weight, self.norm1.bias, self.norm1.eps)
        z = F.linear(F.linear(y, self.ff[0].weight, self.ff[0].bias).relu(), self.ff[2].weight, self.ff[2].bias)
        return F.layer_norm(y + z, y.shape[-1:], self.norm2.weight, self.norm2.bias, self.norm2.eps)
