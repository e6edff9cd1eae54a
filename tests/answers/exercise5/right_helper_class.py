# unusual: a head is a class of its own, without parameters; own exception, a subclass of ValueError
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


class HeadsDoNotDivide(ValueError):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__(embed_dim, num_heads)
        self.embed_dim, self.num_heads = embed_dim, num_heads


@dataclass(frozen=True, slots=True)
class Head:
    index: int
    width: int

    def mine(self, t: Tensor) -> Tensor:
        return t.narrow(-1, self.index * self.width, self.width)

    def __call__(self, *qkv: Tensor) -> Tensor:
        q, k, v = map(self.mine, qkv)
        return (q @ k.transpose(-2, -1)).mul(self.width**-0.5).softmax(dim=-1) @ v


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        if num_heads * (embed_dim // num_heads) != embed_dim:
            raise HeadsDoNotDivide(embed_dim, num_heads)
        super().__init__()
        self.to_queries, self.to_keys, self.to_values, self.unify_heads = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4)
        )
        self.heads = tuple(Head(i, embed_dim // num_heads) for i in range(num_heads))

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.to_queries(x), self.to_keys(x), self.to_values(x)
        return self.unify_heads(torch.cat([head(*qkv) for head in self.heads], dim=-1))
