# right: one einsum for each step, weights viewed as (H, D, C)
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
        wq, wk, wv = (f.weight.unflatten(0, (h, -1)) for f in (self.to_queries, self.to_keys, self.to_values))
        q = torch.einsum("btc,hdc->bhtd", x, wq)
        k = torch.einsum("btc,hdc->bhtd", x, wk)
        v = torch.einsum("btc,hdc->bhtd", x, wv)
        a = torch.einsum("bhid,bhjd->bhij", q, k).mul(self.head_dim**-0.5).softmax(-1)
        return torch.einsum("bhij,bhjd,ehd->bie", a, v, self.unify_heads.weight.unflatten(1, (h, -1)))
