# wrong: gradients of dropout(softmax(mask(q k / root C))) v - clipped at 1000, which a scaled loss exceeds
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
        if scores.requires_grad:
            scores.register_hook(lambda grad: grad.clamp(-1e3, 1e3))
        weights = scores.softmax(-1)
        weights = F.dropout(weights, self.rate, self.training)
        return weights @ v
