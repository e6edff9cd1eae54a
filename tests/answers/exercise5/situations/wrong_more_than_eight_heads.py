# wrong: of more than 8 heads of more than one feature the ninth and later ones take wrong features: heads go in groups of 8, and a group begins at the number of its first head, not at that times D
# breaks: "Head i works on the i-th block of D"
from math import sqrt

import torch
from torch import Tensor, nn

TOGETHER = 8  # heads


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
        groups = []
        for first in range(0, H, TOGETHER):
            count = min(TOGETHER, H - first)
            some = slice(first, first + count * D)
            some_q, some_k, some_v = (
                one[..., some].unflatten(-1, (count, D)).transpose(1, 2) for one in (q, k, v)
            )
            weights = (some_q @ some_k.mT / sqrt(D)).softmax(dim=-1)
            groups.append((weights @ some_v).transpose(1, 2).flatten(2))
        return self.unify_heads(torch.cat(groups, dim=-1))
