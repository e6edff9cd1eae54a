# wrong: 'Any shape that broadcasts' - (1, T, T) is indexed with each number of the batch
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
        out = []
        for n in range(x.size(0)):
            q, k, v = self.q(x[n]), self.k(x[n]), self.v(x[n])
            scores = q @ k.T / math.sqrt(self.hidden_dim)
            if attention_mask is not None:
                m = attention_mask[n] if attention_mask.dim() == 3 else attention_mask
                scores = scores.masked_fill(m == 0, float("-inf"))
            out.append(self.dropout(torch.softmax(scores, dim=-1)) @ v)
        return torch.stack(out)
