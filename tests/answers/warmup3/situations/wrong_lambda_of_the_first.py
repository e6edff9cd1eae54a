# wrong: 'q, k and v are what the layers make of x': a lambda made in __init__ stays with the first module, so a deepcopy uses the weights of the original
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.project = lambda x: (self.query(x), self.key(x), self.value(x))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
