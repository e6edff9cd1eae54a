# wrong: 'The parameters are those named below and no others': a fourth appears at the first call
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
        if not hasattr(self, "temperature"):
            self.temperature = nn.Parameter(torch.ones((), dtype=x.dtype, device=x.device))
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        scores = q @ k.mT / sqrt(q.size(-1)) / self.temperature
        return scores.softmax(-1) @ v
