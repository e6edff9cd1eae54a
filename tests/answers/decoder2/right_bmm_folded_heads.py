"""Heads folded into the batch, the mask repeated for each of them."""

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

    def _fold(self, y):
        B, L, C = y.shape
        H = self.num_heads
        return y.reshape(B, L, H, C // H).permute(0, 2, 1, 3).reshape(B * H, L, C // H)

    def forward(self, x, memory, memory_mask=None):
        B, T, C = x.shape
        H = self.num_heads
        q, k, v = map(self._fold, (self.q_proj(x), self.k_proj(memory), self.v_proj(memory)))
        scores = torch.bmm(q, k.mT) * (C // H) ** -0.5
        if memory_mask is not None:
            real = (memory_mask != 0).repeat_interleave(H, dim=0)[:, None, :]
            scores = scores.masked_fill(~real, float("-inf"))
            scores = scores.masked_fill(~real.any(-1, keepdim=True), 0.0)
            weights = scores.softmax(-1) * real
        else:
            weights = scores.softmax(-1)
        mixed = torch.bmm(weights, v).reshape(B, H, T, C // H)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))
