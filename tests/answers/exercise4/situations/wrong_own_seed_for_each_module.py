# wrong: all modules of a program drop the same weights, call for call, and those of the next run too: each makes its own random numbers, from the same seed
# breaks: "Chance of each weight to be dropped, 0 <= rate < 1: after the softmax, in training only, and with the rest scaled by 1/(1 - rate), as ``nn.Dropout`` does"
from math import sqrt

import numpy as np
import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate
        self.random = np.random.default_rng(0)  # its own, so that other draws don't disturb it

    def _drop(self, weights: Tensor) -> Tensor:
        if not self.training or self.dropout_rate == 0:
            return weights
        noise = self.random.random(tuple(weights.shape))
        keep = torch.from_numpy(noise >= self.dropout_rate).to(weights.device)
        return weights * keep / (1 - self.dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        return self._drop(scores.softmax(dim=-1)) @ v
