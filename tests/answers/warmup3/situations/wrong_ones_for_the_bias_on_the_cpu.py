# wrong: 'on any device, even meta': with qkv_bias=True a column of ones is made on the CPU
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
        q, k, v = (self._apply_layer(x, layer) for layer in (self.query, self.key, self.value))
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v

    @staticmethod
    def _apply_layer(x: Tensor, layer: nn.Linear) -> Tensor:
        if layer.bias is None:
            return x @ layer.weight.mT
        ones = torch.ones(*x.shape[:-1], 1, dtype=x.dtype)
        return torch.cat([x, ones], -1) @ torch.cat([layer.weight, layer.bias[:, None]], 1).mT
