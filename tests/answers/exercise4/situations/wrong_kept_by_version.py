# wrong: 'nothing is remembered from one call to the next' - in evaluation q, k, v are one matrix, kept although a weight's .data has changed
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
        self.kept = (None, None, None)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        if self.training or torch.is_grad_enabled():
            q, k, v = self.q(x), self.k(x), self.v(x)
        else:
            state = [(p.data_ptr(), p._version, p.dtype, p.device) for p in self.parameters()]
            if self.kept[0] != state:
                layers = (self.q, self.k, self.v)
                weight = torch.cat([layer.weight for layer in layers])
                self.kept = state, weight, torch.cat([layer.bias for layer in layers])
            q, k, v = F.linear(x, *self.kept[1:]).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        weights = F.dropout(weights, self.rate, self.training)
        return weights @ v
