# wrong: 'k and v are what the layers make of x': a transposed view kept since __init__, stale after .to(float64)
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self._key_t = self.key.weight.t()  # transposed once and for all

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), x @ self._key_t, self.value(x)
        if self.key.bias is not None:
            k = k + self.key.bias
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.d_out), dim=-1) @ v
