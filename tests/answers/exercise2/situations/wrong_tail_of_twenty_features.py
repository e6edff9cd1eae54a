# wrong: 'q·kᵀ': scores are summed over blocks of 20 features and a tail q[..., -(C % 20):], which is everything again where C divides by 20
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, -1)
        C = q.size(-1)
        parts = [slice(i, i + 20) for i in range(0, C - 19, 20)] + [slice(-(C % 20), None)]
        scores = sum(q[..., part] @ k[..., part].mT for part in parts)
        return (scores / sqrt(C)).softmax(-1) @ v
