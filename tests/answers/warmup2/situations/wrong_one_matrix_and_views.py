# wrong: 'query: nn.Parameter, (d_in, d_out)': one parameter qkv, the three names are only views of it
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.qkv = nn.Parameter(torch.randn(d_in, 3 * d_out) / math.sqrt(d_in))
        self.d_out = d_out

    @property
    def query(self) -> Tensor:
        return self.qkv[:, : self.d_out]

    @property
    def key(self) -> Tensor:
        return self.qkv[:, self.d_out : 2 * self.d_out]

    @property
    def value(self) -> Tensor:
        return self.qkv[:, 2 * self.d_out :]

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (x @ self.qkv).split(self.d_out, dim=-1)
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.d_out), dim=-1) @ v
