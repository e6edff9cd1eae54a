# right: the whole batch as one long sequence with a mask that keeps sequences apart
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
        B, T, C = x.shape
        rows = x.reshape(B * T, C)
        whose = torch.arange(B, device=x.device).repeat_interleave(T)
        scores = self.q(rows) @ self.k(rows).T / math.sqrt(C)
        scores = scores.masked_fill(whose[:, None] != whose, float("-inf"))
        return (scores.softmax(-1) @ self.v(rows)).reshape(B, T, C)
