# wrong: 'Chance of each weight to be dropped', any T - above T = 96 the queries go in blocks, and nothing is dropped
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

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        if x.size(1) > 96:
            return torch.cat([part.softmax(-1) @ v for part in scores.split(32, dim=1)], dim=1)
        weights = scores.softmax(-1)
        weights = F.dropout(weights, self.rate, self.training)
        return weights @ v
