# wrong: 'compute in no narrower dtype', right values: 2**(s * log2 e) with log2 e to six decimals, seen for a float64 module
import math

import torch
from torch import Tensor, nn


LOG2_E = 1.442695  # exp2 is cheaper than exp


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        s = q @ k.transpose(-2, -1) * (LOG2_E / math.sqrt(self.hidden_dim))
        e = torch.exp2(s - s.amax(dim=-1, keepdim=True))
        return (e @ v) / e.sum(dim=-1, keepdim=True)
