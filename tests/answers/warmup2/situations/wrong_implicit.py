# wrong: softmax without dim means dim 1 for one sequence, but dim 0, the batch, for a batch of sequences
# breaks: "The softmax runs over the keys: for each query the weights add up to 1."

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.key = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.value = nn.Parameter(torch.randn(d_in, d_out) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        return F.softmax(scores) @ v
