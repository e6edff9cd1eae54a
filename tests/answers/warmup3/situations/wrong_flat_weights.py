# wrong: 'q, k and v are what the layers make of x': a list of the weights, made anew when the module moves, is stale after load_state_dict(assign=True)
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self._gather()

    def _gather(self) -> None:
        self._flat = [(m.weight, m.bias) for m in (self.query, self.key, self.value)]

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self._gather()
        return self

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (nn.functional.linear(x, weight, bias) for weight, bias in self._flat)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
