# wrong: 'large scores give right values' - they are clamped to 80 on either side
import math

import torch
from torch import Tensor, nn


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
        q, k, v = (
            layer(x).reshape(B, T, self.heads, self.head_dim).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = (q @ k.mT / math.sqrt(self.head_dim)).clamp(-80, 80)
        later = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
        mixed = weights @ v
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C))
