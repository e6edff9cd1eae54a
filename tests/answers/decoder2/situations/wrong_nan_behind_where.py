# wrong: 'every gradient stays finite' - the mask is added, and NaN taken out of the weights alone
import math

import torch
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        S, H = memory.size(1), self.num_heads
        D = C // H
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)
        k = self.k_proj(memory).reshape(B, S, H, D).transpose(1, 2)
        v = self.v_proj(memory).reshape(B, S, H, D).transpose(1, 2)
        scores = q @ k.mT / math.sqrt(D)
        if memory_mask is None:
            memory_mask = torch.ones(B, S, dtype=torch.bool, device=x.device)
        real = (memory_mask != 0)[:, None, None, :]
        bias = torch.zeros_like(real, dtype=x.dtype).masked_fill(~real, float("-inf"))
        weights = (scores + bias).softmax(-1)
        weights = torch.where(weights.isnan(), torch.zeros_like(weights), weights)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(B, T, C))
