# wrong: exp overflows and nan_to_num turns the overflow into 0, finite but wrong (scores beyond 88 in float32, 709 in float64)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x`` and every parameter."

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
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        exponentials = torch.exp(scores)
        weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
        weights = torch.nan_to_num(weights, nan=0.0)
        return weights @ v
