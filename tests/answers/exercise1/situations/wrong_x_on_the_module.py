# wrong: 'The parameters are those named below and no others': self.x = x makes a learned x (an nn.Parameter) a parameter of the module
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
        self.x = x
        self.queries, self.keys, self.values = self.q(x), self.k(x), self.v(x)
        scores = self.queries @ self.keys.mT / sqrt(x.size(-1))
        return scores.softmax(-1) @ self.values
