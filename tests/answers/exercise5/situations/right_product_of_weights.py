# right: scores as x (Wq^T Wk) x^T for each head, the values as x (Wv^T Wo^T)
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
        wide = torch.promote_types(x.dtype, torch.float32)
        y = x.to(wide)[:, None]
        wq, wk, wv = (f.weight.to(wide).unflatten(0, (h, -1)) for f in (self.to_queries, self.to_keys, self.to_values))
        wo = self.unify_heads.weight.to(wide).unflatten(1, (h, -1)).transpose(0, 1)  # h, C, d
        s = y @ (wq.mT @ wk / math.sqrt(self.head_dim)) @ y.mT
        return (s.softmax(-1) @ y @ (wv.mT @ wo.mT)).sum(1).to(x.dtype)
