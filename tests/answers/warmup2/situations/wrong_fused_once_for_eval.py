# wrong: 'nothing is remembered': in eval mode the joined matrix of the first call is used after the weights change
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))
        self._joined = None

    def _matrix(self) -> Tensor:
        if self.training:
            self._joined = None
            return torch.cat([self.query, self.key, self.value], dim=1)
        if self._joined is None:
            self._joined = torch.cat([self.query, self.key, self.value], dim=1)
        return self._joined

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (x @ self._matrix()).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
        return scores.softmax(dim=-1) @ v
