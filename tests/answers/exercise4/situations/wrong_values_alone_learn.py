# wrong: where queries and keys are frozen and the values learn, the gradient of x lacks what comes through the attention weights: they are made without a graph
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def _map_learns(self) -> bool:
        """Whether the attention weights need a graph: not where the values alone are trained."""
        layers = [*self.q.parameters(), *self.k.parameters()]
        return any(p.requires_grad for p in layers) or not self.v.weight.requires_grad

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and self._map_learns()):
            scores = self.q(x) @ self.k(x).mT / sqrt(x.size(-1))
            if attention_mask is not None:
                scores = scores.masked_fill(attention_mask == 0, float("-inf"))
            weights = scores.softmax(dim=-1)
        return self.dropout(weights) @ self.v(x)
