# right: broadcast and sum for scores and values
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
        b, t, c = x.shape
        shape = (b, t, self.num_heads, self.head_dim)
        q, k, v = (f(x).reshape(shape) for f in (self.to_queries, self.to_keys, self.to_values))
        s = (q[:, :, None] * k[:, None]).sum(-1) / math.sqrt(self.head_dim)  # b, query, key, head
        w = s.softmax(2)
        return self.unify_heads((w[..., None] * v[:, None]).sum(2).flatten(2))
