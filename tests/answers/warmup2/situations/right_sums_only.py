# right: broadcasting and sums in place of every product of matrices but the projections
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (F.linear(x, w.T) for w in (self.query, self.key, self.value))
        s = q.unsqueeze(-2).mul(k.unsqueeze(-3)).sum(-1).div(math.sqrt(self.d_out))
        w = torch.exp(F.log_softmax(s, dim=-1))
        return w.unsqueeze(-1).mul(v.unsqueeze(-3)).sum(-2)
