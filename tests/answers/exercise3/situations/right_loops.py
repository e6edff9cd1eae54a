# right: a loop over sequences and queries, the mask expanded
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        b, t, _ = x.shape
        keep = None if attention_mask is None else (attention_mask != 0).expand(b, t, t)
        out = []
        for n in range(b):
            q, k, v = self.proj(x[n]).chunk(3, -1)
            for i in range(t):
                s = k.mv(q[i]) / math.sqrt(self.hidden_dim)
                if keep is not None:
                    s = s.masked_fill(keep[n, i].logical_not(), -math.inf)
                out.append(self.dropout(s.softmax(0)) @ v)
        return self.output_proj(torch.stack(out).view(b, t, -1))
