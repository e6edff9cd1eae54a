# wrong: 'nothing is remembered from one call to the next': each training step with gradients lowers the temperature
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.steps = 0

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        temperature = 0.99**self.steps
        if self.training and torch.is_grad_enabled():
            self.steps += 1
        return (q @ k.mT / (sqrt(q.size(-1)) * temperature)).softmax(-1) @ v
