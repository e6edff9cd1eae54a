# wrong: 'nothing is remembered': the largest score of all calls so far is subtracted, small scores after large ones give 0/0
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
        self.register_buffer("peak", torch.tensor(-1e30), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        s = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
        highest = s.detach().amax(-1, keepdim=True)
        with torch.no_grad():
            self.peak.copy_(torch.maximum(self.peak, highest.amax()))
        e = torch.exp(s - torch.maximum(highest, self.peak))
        return (e / e.sum(-1, keepdim=True)) @ v
