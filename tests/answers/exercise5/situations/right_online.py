# right: online softmax over blocks of 29 keys, heads folded into the batch
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
        h, d = self.num_heads, self.head_dim
        q, k, v = (f(x).view(b, t, h, d).transpose(1, 2).reshape(b * h, t, d) for f in (self.to_queries, self.to_keys, self.to_values))
        top = torch.full((b * h, t, 1), -math.inf, dtype=x.dtype, device=x.device)
        total, acc = torch.zeros_like(top), torch.zeros_like(q)
        for i in range(0, t, 29):
            s = torch.bmm(q, k[:, i : i + 29].mT) / math.sqrt(d)
            new = torch.maximum(top, s.detach().max(-1, keepdim=True).values)
            e, f = torch.exp(s - new), torch.exp(top - new)
            acc = acc * f + torch.bmm(e, v[:, i : i + 29])
            total = total * f + e.sum(-1, keepdim=True)
            top = new
        return self.unify_heads((acc / total).view(b, h, t, d).permute(0, 2, 1, 3).flatten(2))
