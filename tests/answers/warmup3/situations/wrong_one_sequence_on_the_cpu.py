# wrong: for one sequence (T, d_in) with T above 64 on any device but the CPU: its rows are written into a tensor that is made on the CPU
# breaks: "on any device, even ``meta``" for "One sequence (T, d_in)"
from math import sqrt

import torch
from torch import Tensor, nn

BLOCK = 64


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        if x.dim() == 2 and len(x) > BLOCK:
            out = torch.empty(len(x), v.size(-1), dtype=v.dtype)
            for start in range(0, len(x), BLOCK):
                scores = q[start : start + BLOCK] @ k.mT / sqrt(q.size(-1))
                out[start : start + BLOCK] = scores.softmax(-1) @ v
            return out
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
