# wrong: 'Head i works on the i-th block of D consecutive features' - with more than 4 heads of more than one feature the later ones start at a wrong feature
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        H, D = self.num_heads, x.size(-1) // self.num_heads
        q, k, v = self.to_queries(x), self.to_keys(x), self.to_values(x)
        mixed = []
        for first in range(0, H, 4):  # four heads at a time, for their memory
            count = min(4, H - first)
            parts = [p.narrow(-1, first, count * D).unflatten(-1, (count, D)) for p in (q, k, v)]
            a, b, c = (part.transpose(1, 2) for part in parts)
            weights = (a @ b.mT / sqrt(D)).softmax(-1)
            mixed.append((weights @ c).transpose(1, 2).flatten(2))
        return self.unify_heads(torch.cat(mixed, dim=-1))
