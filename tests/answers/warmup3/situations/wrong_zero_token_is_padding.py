# wrong: 'Let each position attend to every position': a token of zeros is taken for padding
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
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
        padding = x.eq(0).all(dim=-1)
        scores = scores.masked_fill(padding.unsqueeze(-2), torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1) @ v
