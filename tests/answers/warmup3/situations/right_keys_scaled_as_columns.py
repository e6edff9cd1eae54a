# right: works on columns: everything transposed, softmax over axis -2
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
        q, k, v = (l(x).mT for l in (self.query, self.key, self.value))
        w = torch.softmax(k.mT @ (q / math.sqrt(self.d_out)), dim=-2)
        return (v @ w).mT
