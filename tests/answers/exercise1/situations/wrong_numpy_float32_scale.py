# wrong: 'compute in no narrower dtype': 1/sqrt(C) is a numpy float32, for a float64 module
import numpy as np
import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.scale = np.float32(1.0 / np.sqrt(hidden_dim))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = (q @ k.transpose(-2, -1)) * float(self.scale)
        return torch.softmax(scores, dim=-1) @ v
