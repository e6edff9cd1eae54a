# wrong: 'nothing is remembered': ones are kept by T alone, so after .double() the next call raises
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self._ones = None

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, -1)
        scores = q @ k.mT / sqrt(q.size(-1))
        parts = (scores - scores.amax(-1, keepdim=True)).exp()
        if self._ones is None or self._ones.size(0) != x.size(1):
            self._ones = torch.ones(x.size(1), 1, dtype=x.dtype, device=x.device)
        return parts @ v / (parts @ self._ones)
