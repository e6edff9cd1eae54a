# right: one F.linear with the three weights joined in each call, baddbmm for the scores
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
        w = torch.cat([self.to_queries.weight, self.to_keys.weight, self.to_values.weight])
        qkv = F.linear(x, w).view(b, t, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4).flatten(1, 2)
        q, k, v = qkv
        s = torch.baddbmm(q.new_zeros(1), q, k.mT, beta=0, alpha=1 / math.sqrt(self.head_dim))
        y = torch.bmm(s.softmax(-1), v).unflatten(0, (b, self.num_heads))
        return F.linear(y.movedim(1, 2).flatten(2), self.unify_heads.weight)
