# unusual: scores as (B, keys, queries), softmax over dim 1
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
        scores = k @ q.transpose(1, 2) / q.shape[2] ** 0.5
        weights = scores.softmax(1)
        return weights.transpose(1, 2) @ v
