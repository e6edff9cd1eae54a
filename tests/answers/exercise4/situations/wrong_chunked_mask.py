# wrong: 'any T' and '(B, 1, T)' - above T = 64 the queries go in chunks and a mask of one row is sliced to nothing
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
        q, k, v = self.q(x), self.k(x), self.v(x)
        out = []
        for i in range(0, x.size(1), 64):
            scores = q[:, i : i + 64] @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
            if attention_mask is not None:
                m = attention_mask if attention_mask.dim() < 2 else attention_mask[..., i : i + 64, :]
                scores = scores.masked_fill(m == 0, float("-inf"))
            out.append(self.dropout(torch.softmax(scores, dim=-1)) @ v)
        return torch.cat(out, dim=1)
