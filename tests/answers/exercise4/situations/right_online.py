# right: online softmax, key by key in blocks of 17, from the last to the first
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
        q, k, v = self.q(x) / math.sqrt(c), self.k(x), self.v(x)
        see = torch.ones(b, t, t, dtype=torch.bool, device=x.device)
        if attention_mask is not None:
            see = see & (attention_mask != 0)
        least = torch.finfo(x.dtype).min
        top, total, acc = torch.full_like(q[..., :1], least).detach(), 0, 0
        for ks, vs, ms in reversed(list(zip(k.split(17, 1), v.split(17, 1), see.split(17, 2)))):
            s = (q @ ks.mT).masked_fill(~ms, least)
            new = torch.maximum(top, s.amax(-1, keepdim=True).detach())
            f, e = (top - new).exp(), (s - new).exp().masked_fill(~ms, 0)
            total = total * f + e.sum(-1, keepdim=True)
            acc = acc * f + self.dropout(e) @ vs
            top = new
        return acc / total
