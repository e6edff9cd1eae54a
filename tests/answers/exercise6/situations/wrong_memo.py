# wrong: after eval() the last result is returned again for the same tensor, though weights or values have changed since (after an earlier call)
# breaks: "``x`` is not changed in place; nothing is remembered from one call to the next."

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
        return self.unify_heads(out.transpose(1, 2).reshape(B, T, C))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )
        self._last = (None, None)

    def forward(self, x: Tensor) -> Tensor:
        seen, result = self._last
        if not self.training and x is seen:
            return result  # asked a second time
        h = self.norm1(x + self.attention(x))
        out = self.norm2(h + self.ff(h))
        self._last = (x, out)
        return out
