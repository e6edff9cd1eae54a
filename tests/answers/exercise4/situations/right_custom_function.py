# right: one autograd.Function from q, k, v to the output, dropout included
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, see, drop):
        s = q @ k.mT / math.sqrt(q.shape[-1])
        w = (s if see is None else s.masked_fill(~see, -math.inf)).softmax(-1)
        ctx.save_for_backward(q, k, v, w, drop)
        return (w * drop) @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, w, drop = ctx.saved_tensors
        dw = (g @ v.mT) * drop
        ds = w * (dw - (w * dw).sum(-1, keepdim=True)) / math.sqrt(q.shape[-1])
        return ds @ k, ds.mT @ q, (w * drop).mT @ g, None, None


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        see = None if attention_mask is None else attention_mask != 0
        q, k, v = self.q(x), self.k(x), self.v(x)
        p = self.dropout_rate if self.training else 0.0
        drop = F.dropout(torch.ones(x.shape[0], x.shape[1], x.shape[1], dtype=x.dtype, device=x.device), p, p > 0)
        return _Attend.apply(q, k, v, see, drop)
