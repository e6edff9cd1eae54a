# right: weights and biases joined at every call, F.linear, slices by narrow
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        layers = self.query, self.key, self.value
        bias = None if self.query.bias is None else torch.cat([l.bias for l in layers])
        qkv = F.linear(x, torch.cat([l.weight for l in layers]), bias)
        q, k, v = (qkv.narrow(-1, i * self.d_out, self.d_out) for i in range(3))
        return F.softmax(q.matmul(k.mT).mul(1 / math.sqrt(self.d_out)), -1).matmul(v)
