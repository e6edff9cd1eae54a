# wrong: the root is taken of shape[1], which is the length, not the width, when x is a batch (3-D x with T != d_out)
# breaks: "One attention head on bare parameters: softmax(q·kᵀ/√d_out)·v."

import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.key = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.value = nn.Parameter(torch.randn(d_in, d_out) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[1])
        return torch.softmax(scores, dim=-1) @ v
