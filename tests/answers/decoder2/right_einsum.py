"""All axes named; a sequence with nothing to read sees everything, and is multiplied by 0."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, memory_dim):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be shared among {num_heads} heads")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, memory, memory_mask=None):
        H = self.num_heads
        q, k, v = (
            y.unflatten(-1, (H, -1))
            for y in (self.q_proj(x), self.k_proj(memory), self.v_proj(memory))
        )
        scores = torch.einsum("bthd,bshd->bhts", q, k) * q.size(-1) ** -0.5
        if memory_mask is None:
            return self.o_proj(torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v).flatten(-2))
        real = memory_mask != 0
        some = real.any(-1)  # (B,)
        seen = (real | ~some[:, None])[:, None, None, :]
        weights = torch.where(seen, scores, float("-inf")).softmax(-1)
        mixed = torch.einsum("bhts,bshd->bthd", weights, v).flatten(-2)
        return self.o_proj(mixed) * some[:, None, None]
