"""A bias of 0 and the least number is added; what sees nothing is cut out of the weights."""

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
        if memory_mask is None:
            memory_mask = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
        B, T, C = x.shape
        H = self.num_heads
        split = lambda y: y.reshape(B, -1, H, C // H).transpose(1, 2)  # noqa: E731
        q, k, v = split(self.q_proj(x)), split(self.k_proj(memory)), split(self.v_proj(memory))
        real = (memory_mask != 0).to(x.dtype)[:, None, None, :]
        # a hidden score is at most 0 and far below all others, once it is cut down to the bias
        scores = (q @ k.mT) / (C // H) ** 0.5
        scores = scores * real + (1 - real) * torch.finfo(x.dtype).min
        weights = scores.softmax(-1) * real
        return self.o_proj((weights @ v).transpose(1, 2).reshape(B, T, C))
