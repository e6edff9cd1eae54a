# wrong: 'softmax(q.k^T/sqrt(d_out))', one head: a d_out above 64 is cut into heads of 64
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        width = 64 if self.d_out % 64 == 0 else self.d_out
        q, k, v = (t.unflatten(-1, (-1, width)).transpose(-3, -2) for t in (q, k, v))
        att = torch.softmax(q @ k.mT / math.sqrt(width), dim=-1)
        return (att @ v).transpose(-3, -2).flatten(-2)
