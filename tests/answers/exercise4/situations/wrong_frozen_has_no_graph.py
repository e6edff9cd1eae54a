# wrong: 'gradients reach x' - not where the module's parameters are frozen
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
        learns = any(p.requires_grad for p in self.parameters())
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns):
            return self._attend(x, attention_mask)

    def _attend(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        weights = F.dropout(weights, self.rate, self.training)
        return weights @ v
