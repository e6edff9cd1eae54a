# wrong: weights below 1/200 are set to 0, which is most of them in a long sequence (T from 64 or so, or peaked scores)
# breaks: "The softmax runs over the keys: for each query the weights add up to 1."

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
        weights = torch.softmax(scores, dim=-1)
        # the smallest weights are only noise
        weights = torch.where(weights < 0.005, torch.zeros_like(weights), weights)
        return weights @ v
