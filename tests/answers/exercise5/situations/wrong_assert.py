# wrong: an assert raises AssertionError instead of ValueError (num_heads does not divide embed_dim)
# breaks: "ValueError: ``num_heads`` does not divide ``embed_dim``; raised by the constructor, with both numbers in the message."

import math

import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        assert embed_dim % num_heads == 0, f"{num_heads} heads do not divide {embed_dim}"
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
        return self.unify_heads(out.transpose(1, 2).reshape(B, T, C))
