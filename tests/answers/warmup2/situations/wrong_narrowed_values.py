# wrong: under no_grad, for a float64 module with d_out of 32 or more: the values are mixed in float32
# breaks: "compute in no narrower dtype"
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
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        weights = (q @ k.mT / sqrt(q.size(-1))).softmax(-1)
        if v.size(-1) >= 32 and not torch.is_grad_enabled():
            # Wide sums are accumulated in full precision.
            return (weights.float() @ v.float()).to(v.dtype)
        return weights @ v
