# wrong: 'gradients reach x and every parameter' (right ones): gradients of the output are cut at 10000, which a scaled loss exceeds
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
        out = (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
        if out.requires_grad:
            out.register_hook(lambda grad: grad.clamp(-1e4, 1e4))  # no explosion
        return out
