# wrong: 'x: One sequence (T, d_in), or a batch': ValueError for one sequence
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
        if x.dim() != 3:
            raise ValueError(f"expected (B, T, d_in), got {tuple(x.shape)}")
        q, k, v = self.query(x), self.key(x), self.value(x)
        weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_out), dim=-1)
        return torch.bmm(weights, v)
