# wrong: 'nothing is remembered': the last weights are a buffer that the first call registers; the state_dict no longer loads into a new module
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        weights = (q @ k.mT / sqrt(q.size(-1))).softmax(-1)
        self.register_buffer("attention", weights.detach())
        return weights @ v
