# right: keys halved again and again, halves united by their logsumexps
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
            see = see & attention_mask.ne(0)
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = self.q(x).to(wide) / math.sqrt(c), self.k(x).to(wide), self.v(x).to(wide)
        return self._part(q, k, v, see)[0].to(x.dtype)

    def _part(self, q, k, v, see):
        n = k.shape[1]
        if n <= 60:
            s = (q @ k.mT).masked_fill(~see, torch.finfo(q.dtype).min)
            top = s.amax(-1, keepdim=True).detach()
            e = (s - top).exp() * see
            total = e.sum(-1, keepdim=True)
            safe = total + (total == 0)
            return self.dropout(e / safe) @ v, top, total
        h = n // 2
        a, ta, na = self._part(q, k[:, :h], v[:, :h], see[..., :h])
        b, tb, nb = self._part(q, k[:, h:], v[:, h:], see[..., h:])
        top = torch.maximum(ta, tb)
        na, nb = na * (ta - top).exp(), nb * (tb - top).exp()
        total = na + nb
        safe = total + (total == 0)
        return (a * na + b * nb) / safe, top, total
