# wrong: 'nothing is remembered from one call to the next': a temperature that falls with every call in training
import math

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / (math.sqrt(self.hidden_dim) * max(0.5, 1.0 - 0.1 * self.calls))
        self.calls += int(self.training)
        return torch.softmax(scores, dim=-1) @ v
