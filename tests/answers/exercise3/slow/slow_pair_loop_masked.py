"""A loop over (query, key) pairs that asks the mask for each pair; nn.Dropout row by row."""

import math

import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = self.proj(x).to(wide).split(C, dim=-1)
        if attention_mask is None:
            attention_mask = torch.ones(T, dtype=torch.bool, device=x.device)
        seen = (attention_mask != 0).broadcast_to(B, T, T)
        lowest = torch.full((), torch.finfo(wide).min, dtype=wide, device=x.device)
        nothing = torch.zeros((), dtype=wide, device=x.device)

        all_rows = []
        for b in range(B):
            queries, keys, values = list(q[b]), list(k[b]), list(v[b])
            rows = []
            for i in range(T):
                scores = []
                for j in range(T):
                    score = torch.dot(queries[i], keys[j]) / math.sqrt(self.hidden_dim)
                    scores.append(torch.where(seen[b, i, j], score, lowest))
                weights = torch.softmax(torch.stack(scores), dim=0)
                weights = torch.where(seen[b, i], weights, nothing)
                weights = self.dropout(weights)
                row = 0
                for weight, value in zip(weights, values):
                    row = row + weight * value
                rows.append(row)
            all_rows.append(torch.stack(rows))
        return self.output_proj(torch.stack(all_rows).to(x.dtype))
