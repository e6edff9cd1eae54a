# wrong: for a bfloat16 module on meta: the largest score is read to choose the dtype of the softmax, which raises
# breaks: "Module and ``x`` are float32, float64 or bfloat16 ..., on any device, even ``meta``: ... don't branch on values"
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
        scores = q @ k.mT / sqrt(q.size(-1))
        if scores.dtype == torch.bfloat16 and scores.abs().max() > 64:
            # Eight bits don't tell such scores apart well: take the softmax in float32.
            return scores.float().softmax(-1).to(v.dtype) @ v
        return scores.softmax(-1) @ v
