# wrong: 'concatenated in order' - above 10 heads the order is that of the names, head10 before head2
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
        q, k, v = self.to_queries(x), self.to_keys(x), self.to_values(x)
        results = {}
        for i in range(self.num_heads):
            s = slice(i * d, (i + 1) * d)
            w = torch.softmax(q[..., s] @ k[..., s].mT / math.sqrt(d), dim=-1)
            results[f"head{i}"] = w @ v[..., s]
        return self.unify_heads(torch.cat([results[n] for n in sorted(results)], dim=-1))
