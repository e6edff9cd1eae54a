# wrong: under no_grad the fused weights are kept from the first call and are stale once the weights have changed
# breaks: "``x`` is not changed in place; nothing is remembered from one call to the next."

import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.key = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.value = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self._fused = None

    def _weights(self) -> Tensor:
        if torch.is_grad_enabled():
            return torch.cat([self.query, self.key, self.value], dim=1)
        if self._fused is None:
            self._fused = torch.cat([self.query, self.key, self.value], dim=1)
        return self._fused

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (x @ self._weights()).split(self.d_out, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
        return torch.softmax(scores, dim=-1) @ v
