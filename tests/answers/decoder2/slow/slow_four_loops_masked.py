"""Batch, heads, queries, keys, with the mask asked pair by pair, all by indices."""

import torch
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads ({num_heads}) must divide embed_dim ({embed_dim})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        S = memory.shape[1]
        H, D = self.num_heads, self.head_dim
        wide = torch.promote_types(x.dtype, torch.float32)
        q = self.q_proj(x).to(wide).reshape(B, T, H, D)
        k = self.k_proj(memory).to(wide).reshape(B, S, H, D)
        v = self.v_proj(memory).to(wide).reshape(B, S, H, D)
        if memory_mask is None:
            memory_mask = torch.ones(B, S, device=x.device)
        real = memory_mask != 0
        lowest = torch.full((), torch.finfo(wide).min, dtype=wide, device=x.device)
        zero = torch.zeros((), dtype=wide, device=x.device)
        batch = []
        for b in range(B):
            rows = []
            for t in range(T):
                heads = []
                for h in range(H):
                    scores = []
                    for s in range(S):
                        score = (q[b, t, h] * k[b, s, h]).sum() / D**0.5
                        scores.append(torch.where(real[b, s], score, lowest))
                    weights = torch.stack(scores).softmax(dim=0)
                    mix = torch.zeros(D, dtype=wide, device=x.device)
                    for s in range(S):
                        weight = torch.where(real[b, s], weights[s], zero)
                        mix = mix + weight * v[b, s, h]
                    heads.append(mix)
                rows.append(torch.cat(heads))
            batch.append(torch.stack(rows))
        return self.o_proj(torch.stack(batch).to(x.dtype))
