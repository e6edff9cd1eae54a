# wrong: for d_out above 1024: the scores are summed over tiles of 1024 features, and each tile is divided by the root of its own width
# breaks: "softmax(q·kᵀ/√d_out)·v"
from math import sqrt

import torch
from torch import Tensor, nn

TILE = 1024


def score(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT / sqrt(q.size(-1))


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        tiles = zip(q.split(TILE, dim=-1), k.split(TILE, dim=-1), strict=True)
        scores = sum(score(some, others) for some, others in tiles)
        return scores.softmax(-1) @ v
