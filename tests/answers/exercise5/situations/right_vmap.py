# right: torch.func.vmap over the batch and the heads
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
        h = self.num_heads

        def head(q, k, v):
            return torch.softmax(q @ k.T / math.sqrt(self.head_dim), dim=-1) @ v

        def sequence(q, k, v):
            return torch.func.vmap(head, in_dims=1, out_dims=1)(q, k, v)

        q, k, v = (f(x).unflatten(-1, (h, self.head_dim)) for f in (self.to_queries, self.to_keys, self.to_values))
        return self.unify_heads(torch.func.vmap(sequence)(q, k, v).flatten(-2))
