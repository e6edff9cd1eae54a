# right: features before positions, norm on the turned tensor turned back
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

        q, k, v = ((f.weight @ x.mT).unflatten(1, (h, d)) for f in (self.to_queries, self.to_keys, self.to_values))
        w = torch.softmax(k.mT @ q / math.sqrt(d), dim=-2)  # b, h, key, query
        return (self.unify_heads.weight @ (v @ w).flatten(1, 2)).mT


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
        y = (x.mT + self.attention(x).mT).mT
        y = self.norm1(y).mT
        up, down = self.ff[0], self.ff[2]
        z = down.weight @ F.relu(up.weight @ y + up.bias[:, None]) + down.bias[:, None]
        return self.norm2((y + z).mT)
