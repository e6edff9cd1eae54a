"""Comprehensions everywhere, sum() over lists, F.dropout on each single weight."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def weights_of(self, q, keys, seen):
        scores = [sum((q * k).unbind()) / self.hidden_dim**0.5 for k in keys]
        scores = [s.masked_fill(~ok, torch.finfo(s.dtype).min) for s, ok in zip(scores, seen)]
        top = torch.stack([s.detach() for s in scores]).max()
        exps = [torch.exp(s - top).masked_fill(~ok, 0.0) for s, ok in zip(scores, seen)]
        # where nothing is seen: 0 / 1 and not 0 / 0
        total = sum(exps)
        total = total + (total == 0)
        return [F.dropout(e / total, self.dropout_rate, self.training) for e in exps]

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        B, T, _ = x.shape
        mask = torch.ones(1, device=x.device) if attention_mask is None else attention_mask
        seen = (mask != 0).expand(B, T, T)
        batch = [
            (
                list(self.q(x[b]).to(wide)),
                list(self.k(x[b]).to(wide)),
                list(self.v(x[b]).to(wide)),
                [list(row) for row in seen[b]],
            )
            for b in range(B)
        ]
        return torch.stack(
            [
                torch.stack(
                    [
                        sum(w * v for w, v in zip(self.weights_of(q, keys, ok), values))
                        for q, ok in zip(queries, oks)
                    ]
                )
                for queries, keys, values, oks in batch
            ]
        ).to(x.dtype)
