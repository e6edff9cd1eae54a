# right: a loop over sequences and queries, a mixin, and the graded name is an alias of another class
import torch
from torch import Tensor, nn


class _Projections:
    def _make(self, C: int) -> None:
        self.q, self.k, self.v = nn.Linear(C, C), nn.Linear(C, C), nn.Linear(C, C)


class PedestrianAttention(nn.Module, _Projections):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self._make(hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        mask = None
        if attention_mask is not None:
            mask = torch.broadcast_to(attention_mask, (B, T, T)) == 0
        batch = []
        for b in range(B):
            Q, K, V = self.q(x[b]), self.k(x[b]), self.v(x[b])
            rows = []
            for t in range(T):
                s = (K * Q[t]).sum(dim=1) / C**0.5
                if mask is not None:
                    s = torch.where(mask[b, t], -torch.inf, s)
                w = nn.functional.dropout(s.softmax(dim=0), self.dropout_rate, self.training)
                rows.append((w.unsqueeze(1) * V).sum(dim=0))
            batch.append(torch.stack(rows))
        return torch.stack(batch)


SelfAttentionV4 = PedestrianAttention
