# wrong: 'gradients reach ... every parameter': forward calls zero_grad, so gradients of several batches don't add up in .grad
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
        if self.training:
            self.zero_grad()  # start from a clean state
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
