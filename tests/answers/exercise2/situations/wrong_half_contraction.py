# wrong: 'softmax(q k^T / sqrt C)' - for odd C the last feature is left out of the scores
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        half = self.hidden_dim // 2
        if half == 0:
            scores = q @ k.mT
        else:
            (q1, q2), (k1, k2) = (t[..., : 2 * half].split(half, dim=-1) for t in (q, k))
            scores = q1 @ k1.mT + q2 @ k2.mT
        return F.softmax(scores / math.sqrt(self.hidden_dim), dim=-1) @ v
