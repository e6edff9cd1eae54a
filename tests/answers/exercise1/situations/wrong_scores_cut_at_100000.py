# wrong: 'large scores all give finite, right values': scores are cut at 1e5, two keys beyond it share what belongs to one
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = (q @ k.mT / sqrt(q.size(-1))).clamp(-1e5, 1e5)
        return scores.softmax(-1) @ v
