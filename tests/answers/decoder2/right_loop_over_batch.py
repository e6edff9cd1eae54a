"""One sequence after another; its padding is taken out of the mixture by its weight."""

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
        outputs = []
        for b in range(x.size(0)):
            q, k, v = self.q_proj(x[b]), self.k_proj(memory[b]), self.v_proj(memory[b])
            q, k, v = (y.unflatten(-1, (H, -1)).transpose(0, 1) for y in (q, k, v))
            scores = q @ k.transpose(1, 2) / q.size(-1) ** 0.5  # (H, T, S)
            real = torch.ones_like(scores, dtype=torch.bool)
            if memory_mask is not None:
                real = (memory_mask[b] != 0).expand_as(scores)
            none = ~real.any(-1, keepdim=True)
            weights = scores.masked_fill(~(real | none), -torch.inf).softmax(-1)
            weights = weights.masked_fill(none, 0)
            outputs.append((weights @ v).transpose(0, 1).flatten(1))
        return self.o_proj(torch.stack(outputs))
