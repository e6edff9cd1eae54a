# wrong: 'forward(self, x: Tensor)': the argument has another name, module(x=x) raises
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, inputs: Tensor) -> Tensor:
        q, k, v = self.proj(inputs).chunk(3, -1)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
