# wrong: 'a non-contiguous x': view fails on it
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

    def forward(self, x: Tensor) -> Tensor:
        rows = x.view(-1, x.shape[-1])
        q, k, v = (layer(rows).view(*x.shape[:-1], -1) for layer in (self.query, self.key, self.value))
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.d_out), dim=-1) @ v
