# wrong: whenever the module is moved by `module = SelfAttention(…).to(…)`: `to` is overridden without a return, so module is None
# breaks: "Module and ``x`` are float32, float64 or bfloat16 ..., on any device"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.where = self.query.device

    def to(self, *args, **kwargs):
        super().to(*args, **kwargs)
        self.where = self.query.device

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
