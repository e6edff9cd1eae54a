# Strange: exponentials of what is visible, times the mask as numbers, over their own sum; exp2 inside.
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV4(nn.Module):
    LOG2E = math.log2(math.e)

    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        s = self.q(x).to(wide) @ self.k(x).to(wide).mT * (self.LOG2E / x.size(-1) ** 0.5)
        see = torch.ones_like(s) if attention_mask is None else (attention_mask != 0).to(wide)
        s = torch.where(see == 0, torch.finfo(wide).min, s)
        e = torch.exp2(s - s.detach().amax(-1, keepdim=True)) * see
        w = e / e.sum(-1, keepdim=True).clamp(min=torch.finfo(wide).tiny)
        return (F.dropout(w, self.dropout_rate, self.training) @ self.v(x).to(wide)).to(x.dtype)
