# wrong: above C = 1024 the scores are summed over blocks of 1024 features, each divided by the root of its own width and not of C
# breaks: "The root divides the scores, before the softmax"
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


BLOCK = 1024  # features


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = sum(
            some_q @ some_k.mT / sqrt(some_q.size(-1))
            for some_q, some_k in zip(q.split(BLOCK, dim=-1), k.split(BLOCK, dim=-1), strict=True)
        )
        return scores.softmax(dim=-1) @ v
