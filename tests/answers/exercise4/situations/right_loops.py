# right: a list comprehension for each query of each sequence
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
        see = torch.ones(b, t, t, dtype=torch.bool, device=x.device)
        if attention_mask is not None:
            see = torch.logical_and(see, attention_mask)
        q, k, v = self.q(x), self.k(x), self.v(x)
        rows = [
            self.dropout(torch.softmax((k[n] * q[n, i]).sum(-1).div(math.sqrt(c)).masked_fill(~see[n, i], -math.inf), 0)).unsqueeze(0) @ v[n]
            for n in range(b)
            for i in range(t)
        ]
        return torch.cat(rows).reshape(b, t, c)
