# right: scores kept keys before queries, softmax over axis 1, the mask turned with them
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.q(x).mT, self.k(x), self.v(x).mT
        s = (k / math.sqrt(c)) @ q
        if attention_mask is not None:
            s = s.masked_fill((attention_mask == 0).expand(b, t, t).mT, -math.inf)
        w = self.dropout(s.softmax(1))
        return (v @ w).mT
