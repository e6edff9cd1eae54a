# wrong: under no_grad, with d_in == d_out, the result is written into the memory of x
# breaks: "``x`` is not changed in place; nothing is remembered from one call to the next."

import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
        weights = torch.softmax(scores, dim=-1)
        if self.d_in == self.d_out and not torch.is_grad_enabled():
            return torch.matmul(weights, v, out=x)  # x is no longer needed: save memory
        return weights @ v
