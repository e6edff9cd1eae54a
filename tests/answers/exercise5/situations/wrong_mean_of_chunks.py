# wrong: 'its softmax runs over the keys', 'any T' - above 128 keys each chunk has its own softmax and the results are averaged
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")

        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = (batch, length, self.num_heads, self.head_dim)
        q = self.to_queries(x).reshape(split).transpose(1, 2)
        k = self.to_keys(x).reshape(split).transpose(1, 2)
        v = self.to_values(x).reshape(split).transpose(1, 2)

        parts = []
        for ks, vs in zip(k.split(128, dim=2), v.split(128, dim=2)):
            w = torch.softmax(q @ ks.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
            parts.append(w @ vs * (ks.size(2) / length))
        out = sum(parts).transpose(1, 2).reshape(batch, length, width)
        return self.unify_heads(out)
