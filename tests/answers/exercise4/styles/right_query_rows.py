# Strange: queries in chunks of 40 rows, with the mask's rows cut along; one F.linear on stacked weights.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        three = (self.q, self.k, self.v)
        fused = F.linear(x, torch.cat([m.weight for m in three]), torch.cat([m.bias for m in three]))
        q, k, v = fused.hsplit(1)[0].split(C, -1)
        mask = x.new_ones(()) if attention_mask is None else attention_mask
        rows = []
        for qs, ms in zip(q.split(40, 1), mask.expand(B, T, T).split(40, 1)):
            s = (qs @ k.mT) * C**-0.5
            w = s.masked_fill(ms == 0, torch.finfo(s.dtype).min).softmax(-1)
            rows.append(F.dropout(w, self.dropout_rate, self.training) @ v)
        return torch.cat(rows, 1)
