# wrong: 'gradients reach x': none does where the parameters are frozen
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        learns = torch.is_grad_enabled() and self.query.requires_grad
        with torch.set_grad_enabled(learns):
            q, k, v = x @ self.query, x @ self.key, x @ self.value
            return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
