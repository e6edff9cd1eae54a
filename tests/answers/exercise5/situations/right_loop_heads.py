# right: a loop over heads, unify_heads as a sum of the heads' slices
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
        d = self.head_dim
        out = 0
        for i in range(self.num_heads):
            s = slice(d * i, d * i + d)
            q, k, v = (x @ f.weight[s].T for f in (self.to_queries, self.to_keys, self.to_values))
            w = F.softmax(q @ k.transpose(1, 2) / math.sqrt(d), dim=2)
            out = out + (w @ v) @ self.unify_heads.weight[:, s].T
        return out
