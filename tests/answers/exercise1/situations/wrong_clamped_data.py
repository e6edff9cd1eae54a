# wrong: 'x is not changed in place': x.data is clamped to [-100, 100], seen when x is large
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

    def forward(self, x: Tensor) -> Tensor:
        x.data.clamp_(-100, 100)  # guards the softmax, hidden from autograd
        q, k, v = self.q(x), self.k(x), self.v(x)
        return torch.softmax(q @ k.mT / math.sqrt(self.hidden_dim), dim=-1) @ v
