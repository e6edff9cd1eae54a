# wrong: no state: in training set_grad_enabled(True) is left on, so the rest of the caller's no_grad block records graphs
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
        if self.training:
            torch.set_grad_enabled(True)
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
