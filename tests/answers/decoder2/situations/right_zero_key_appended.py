# right: one key and value of zeros behind the memory, visible to those who see nothing else
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
        real = torch.ones(B, S, device=x.device) != 0
        real = real if memory_mask is None else memory_mask != 0
        real = torch.cat([real, ~real.any(-1, keepdim=True)], dim=-1)[:, None, None, :]
        scores = torch.cat([scores, torch.zeros_like(scores[..., :1])], dim=-1)
        v = torch.cat([v, torch.zeros_like(v[..., :1, :])], dim=-2)
        weights = torch.softmax(torch.where(real, scores, float("-inf")), dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(B, T, C))
