# right: an autograd.Function for masked softmax and one for dropout, both with right backwards
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, s, hidden):
        p = (s if hidden is None else s.masked_fill(hidden, -math.inf)).softmax(-1)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        pg = p * g
        return pg - p * pg.sum(-1, keepdim=True), None


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, rate):
        keep = torch.empty(w.shape, dtype=torch.float32, device=w.device).uniform_() >= rate
        ctx.save_for_backward(keep)
        ctx.f = 1 / (1 - rate)
        return w * keep * ctx.f

    @staticmethod
    def backward(ctx, g):
        (keep,) = ctx.saved_tensors
        return g * keep * ctx.f, None


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, -1)
        s = q @ k.mT / math.sqrt(self.hidden_dim)
        hidden = None if attention_mask is None else attention_mask == 0
        w = _MaskedSoftmax.apply(s, hidden)
        if self.training and self.dropout_rate:
            w = _Drop.apply(w, self.dropout_rate)
        return self.output_proj(w @ v)
