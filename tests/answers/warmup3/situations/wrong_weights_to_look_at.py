# wrong: 'nothing is remembered from one call to the next': the weights of the last call stay on the module with their graph, deepcopy raises after a step
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.attention = None

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        self.attention = (q @ k.mT / sqrt(q.size(-1))).softmax(-1)
        return self.attention @ v
