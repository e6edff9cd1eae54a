# wrong: 'Head i works on the i-th block of D consecutive features' - it takes every H-th feature
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
        split = (batch, length, self.head_dim, self.num_heads)
        q, k, v = (f(x).reshape(split).permute(0, 3, 1, 2) for f in (self.to_queries, self.to_keys, self.to_values))
        weights = torch.softmax(q @ k.mT / math.sqrt(self.head_dim), dim=-1)
        out = (weights @ v).permute(0, 2, 3, 1).reshape(batch, length, width)
        return self.unify_heads(out)
