# wrong: no state: the constructor seeds torch's global generator, so whatever the program draws afterwards repeats
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        torch.manual_seed(42)  # the same first values each time
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
