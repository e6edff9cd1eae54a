# wrong: no state: every call in training seeds torch's global generator, so the program's other dropout masks repeat
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
        if self.training:
            torch.manual_seed(0)  # reproducible
        q, k, v = self.q(x), self.k(x), self.v(x)
        weights = nn.functional.dropout((q @ k.mT / sqrt(q.size(-1))).softmax(-1), 0.0)
        return weights @ v
