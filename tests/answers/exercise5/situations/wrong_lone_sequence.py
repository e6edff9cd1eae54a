# wrong: 'B = 1 ... right' - at B = 1 features and positions are folded in the wrong order
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

        def heads(t):
            if batch == 1:  # no batch to step over, so view the heads directly
                return t.reshape(1, self.num_heads, length, self.head_dim)
            return t.reshape(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

        q, k, v = heads(self.to_queries(x)), heads(self.to_keys(x)), heads(self.to_values(x))
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)

        out = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.unify_heads(out)
