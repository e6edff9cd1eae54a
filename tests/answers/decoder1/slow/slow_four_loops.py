"""Batch, heads, queries, and for each query a loop over the keys up to itself; no mask at all."""

import math

import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim={embed_dim} is no multiple of num_heads={num_heads}")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.max_len = max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens are more than max_len={self.max_len}")
        H, D = self.num_heads, self.head_dim
        # in float64, 1e30 times 1e30 is still a number
        q = self.q_proj(x).double().reshape(B, T, H, D)
        k = self.k_proj(x).double().reshape(B, T, H, D)
        v = self.v_proj(x).double().reshape(B, T, H, D)
        out = []
        for b in range(B):
            heads = []
            for h in range(H):
                queries = [row for row in q[b, :, h]]
                keys = [row for row in k[b, :, h]]
                values = [row for row in v[b, :, h]]
                rows = []
                for t in range(T):
                    scores = []
                    for s in range(t + 1):
                        scores.append(torch.dot(queries[t], keys[s]) / math.sqrt(D))
                    top = torch.stack(scores).detach().max()
                    exps = [(score - top).exp() for score in scores]
                    total = sum(exps)
                    rows.append(sum(exps[s] / total * values[s] for s in range(t + 1)))
                heads.append(torch.stack(rows))
            out.append(torch.cat(heads, dim=-1))
        return self.o_proj(torch.stack(out).to(x.dtype))
