# wrong: 'compute in no narrower dtype': computes in the default dtype, float32, for a float64 module
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
        work = torch.get_default_dtype()  # bfloat16 would be too coarse for a softmax
        q, k, v = (layer(x).to(work) for layer in (self.query, self.key, self.value))
        att = torch.softmax(q @ k.mT / math.sqrt(self.d_out), dim=-1)
        return (att @ v).to(x.dtype)
