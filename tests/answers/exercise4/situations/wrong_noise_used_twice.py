# wrong: 'nothing is remembered from one call to the next' - each second call drops what the first did, mirrored
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
        self.noise = None

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        if self.training and self.rate > 0:
            noise, self.noise = self.noise, None
            if noise is None or noise.shape != weights.shape or noise.dtype != weights.dtype:
                noise = F.dropout(torch.ones_like(weights.detach()), self.rate)
                self.noise = noise.flip(-1)
            weights = weights * noise
        return weights @ v
