# wrong: after eval() no gradient reaches x or the parameters
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x`` and every parameter."

import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.key = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.value = nn.Parameter(torch.randn(d_in, d_out) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        # no graph is needed outside training
        with torch.set_grad_enabled(self.training and torch.is_grad_enabled()):
            q, k, v = x @ self.query, x @ self.key, x @ self.value
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
            return torch.softmax(scores, dim=-1) @ v
