# right: a base class that makes the layers by setattr, L1 normalize as the sum
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _Three(nn.Module):
    def __init__(self, width, rate):
        super().__init__()
        for n in "qkv":
            setattr(self, n, nn.Linear(width, width))
        self.rate = rate


class SelfAttentionV4(_Three):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__(hidden_dim, dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        b, t, c = x.shape
        q, k, v = [getattr(self, n)(x) for n in "qkv"]
        s = q.matmul(k.permute(0, 2, 1)).true_divide(c**0.5)
        if attention_mask is not None:
            s = s.where(attention_mask.broadcast_to(b, t, t) != 0, torch.tensor(-math.inf, dtype=s.dtype, device=s.device))
        w = nn.functional.normalize((s - s.amax(-1, keepdim=True).detach()).exp(), p=1, dim=-1)
        return F.dropout(w, self.rate, self.training).matmul(v)
