# right: nested torch.func.vmap with the mask expanded, dropout outside
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
        see = torch.ones((b, t, t), dtype=torch.bool, device=x.device)
        if attention_mask is not None:
            see = see.logical_and(attention_mask != 0)
        q, k, v = self.q(x), self.k(x), self.v(x)

        def row(q1, see1, k1):
            return torch.where(see1, (k1 @ q1) / math.sqrt(c), -torch.inf).softmax(0)

        w = torch.func.vmap(torch.func.vmap(row, in_dims=(0, 0, None)))(q, see, k)
        return self.dropout(w) @ v
