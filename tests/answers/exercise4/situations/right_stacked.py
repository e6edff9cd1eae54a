# right: the three layers stacked to one F.linear anew in each call
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
        w = torch.cat([self.q.weight, self.k.weight, self.v.weight])
        b = torch.cat([self.q.bias, self.k.bias, self.v.bias])
        q, k, v = F.linear(x, w, b).chunk(3, -1)
        s = torch.baddbmm(q.new_zeros(1, 1, 1), q, k.mT, beta=0, alpha=self.hidden_dim**-0.5)
        if attention_mask is not None:
            s.masked_fill_(attention_mask.eq(0), -math.inf)
        return torch.bmm(self.dropout(s.softmax(2)), v)
