# wrong: 'nothing is remembered from one call to the next': after a warm-up of 100 calls in training the scores get colder
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        if self.training:
            self.calls += 1
        late = max(0, self.calls - 100)
        return (q @ k.mT / sqrt(q.size(-1)) * (1 + late / 100)).softmax(-1) @ v
