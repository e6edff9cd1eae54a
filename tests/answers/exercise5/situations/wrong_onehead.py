# wrong: a single head skips unify_heads, which then gets no gradient either (H = 1)
# breaks: "The results of the heads are concatenated in order, (B, T, H·D), and go through ``unify_heads``."

import math

import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def _split(self, t: Tensor) -> Tensor:
        B, T, _ = t.shape
        return t.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q = self._split(self.to_queries(x))
        k = self._split(self.to_keys(x))
        v = self._split(self.to_values(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        out = torch.softmax(scores, dim=-1) @ v
        if self.num_heads == 1:  # nothing to unify
            return out.squeeze(1)
        return self.unify_heads(out.transpose(1, 2).reshape(B, T, C))
