# right: einsum and a multiplied -inf free bias by torch.where
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
        q, k, v = (torch.einsum("btc,dc->btd", x, f.weight) + f.bias for f in (self.q, self.k, self.v))
        s = torch.einsum("...ic,...jc->...ij", q, k).div(self.hidden_dim**0.5)
        if attention_mask is not None:
            s = s + torch.where(attention_mask != 0, 0.0, -torch.inf).to(s.dtype)
        return torch.einsum("...ij,...jc->...ic", self.dropout(s.softmax(-1)), v)
