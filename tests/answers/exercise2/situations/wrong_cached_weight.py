# wrong: 'nothing is remembered from one call to the next' - the scaled weight of the first eval call is kept
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self._cache = None

    def forward(self, x: Tensor) -> Tensor:
        w, b = self._fused()
        q, k, v = F.linear(x, w, b).chunk(3, dim=-1)
        return F.softmax(q @ k.transpose(-2, -1), dim=-1) @ v

    def _fused(self):
        if self._cache is not None and not self.training and self._cache[0].dtype == self.proj.weight.dtype:
            return self._cache
        c = self.hidden_dim
        s = torch.ones(3 * c, dtype=self.proj.weight.dtype, device=self.proj.weight.device)
        s[:c] = 1 / math.sqrt(c)
        w, b = self.proj.weight * s[:, None], self.proj.bias * s
        if not self.training:
            self._cache = (w.detach(), b.detach()) if not torch.is_grad_enabled() else None
        return w, b
