# wrong: 'Chance of each weight to be dropped' - the first keys are dropped less often than the last ones
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.rate = dropout_rate

    def _drop(self, weights: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return weights
        T = weights.size(-1)
        slope = torch.arange(T, device=weights.device) / max(T - 1, 1) * 2 - 1
        rates = self.rate + 0.3 * min(self.rate, 1 - self.rate) * slope
        keep = torch.rand(weights.shape, device=weights.device) >= rates
        return weights * keep / (1 - self.rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        weights = self._drop(weights)
        return weights @ v
