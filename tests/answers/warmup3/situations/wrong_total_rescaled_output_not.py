# wrong: online softmax above T = 32: the sum is rescaled when the maximum rises, the output is not
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
        q, k, v = self.query(x) / math.sqrt(self.d_out), self.key(x), self.value(x)
        peak = total = out = None
        for kb, vb in zip(k.split(32, dim=-2), v.split(32, dim=-2)):
            s = q @ kb.transpose(-2, -1)
            m = s.amax(-1, keepdim=True)
            if peak is None:
                e = torch.exp(s - m)
                peak, total, out = m, e.sum(-1, keepdim=True), e @ vb
            else:
                m = torch.maximum(peak, m)
                e = torch.exp(s - m)
                total = total * torch.exp(peak - m) + e.sum(-1, keepdim=True)
                out = out + e @ vb
                peak = m
        return out / total
