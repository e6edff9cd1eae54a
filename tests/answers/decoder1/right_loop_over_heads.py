# a loop over heads: each has its own rows of the three weights and its own columns of the last
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        self.heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.max_len = max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens, at most {self.max_len} are taken")
        hidden = torch.full((T, T), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        out = torch.zeros_like(x)
        for i in range(self.heads):
            own = slice(i * self.head_dim, (i + 1) * self.head_dim)
            q = F.linear(x, self.q_proj.weight[own])
            k = F.linear(x, self.k_proj.weight[own])
            v = F.linear(x, self.v_proj.weight[own])
            scores = torch.baddbmm(hidden.expand(B, T, T), q, k.mT, alpha=1 / math.sqrt(self.head_dim))
            out = out + F.linear(F.softmax(scores, -1) @ v, self.o_proj.weight[:, own])
        return out
