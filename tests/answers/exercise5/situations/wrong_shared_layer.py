# wrong: the parameters 'and no others' - to_keys is the same layer as to_queries, so its weight is missing
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
        self.to_keys = self.to_queries

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = (batch, length, self.num_heads, self.head_dim)
        q = self.to_queries(x).reshape(split).transpose(1, 2)
        k = self.to_keys(x).reshape(split).transpose(1, 2)
        v = self.to_values(x).reshape(split).transpose(1, 2)

        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)

        out = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.unify_heads(out)
