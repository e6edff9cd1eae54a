# wrong: when the module is made on meta (with torch.device("meta")): the constructor asks whether a value is too large, and raises
# breaks: "Module and ``x`` are ... on any device, even ``meta``: ... don't branch on values"
from math import sqrt

import torch
from torch import Tensor, nn


def truncated(d_in: int, d_out: int) -> nn.Parameter:
    """Normally distributed, but nothing beyond two standard deviations."""
    drawn = torch.randn(d_in, d_out)
    while (drawn.abs() > 2).any():
        drawn = torch.where(drawn.abs() > 2, torch.randn_like(drawn), drawn)
    return nn.Parameter(drawn / sqrt(d_in))


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = truncated(d_in, d_out)
        self.key = truncated(d_in, d_out)
        self.value = truncated(d_in, d_out)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
