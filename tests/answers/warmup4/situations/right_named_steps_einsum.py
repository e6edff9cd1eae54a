# right: einsum; a generator of (name, step) pairs made into a dict
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def _walk(self, x: Tensor):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        yield from zip("qkv", (q, k, v))
        s = torch.einsum("...rc,...tc->...rt", q, k)
        yield "similarities", s
        s = s * (1.0 / math.sqrt(k.shape[self.col_dim]))
        yield "scaled", s
        w = s.softmax(self.col_dim)
        yield "weights", w
        yield "output", torch.einsum("...rt,...tc->...rc", w, v)

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        return dict(self._walk(x))

    def forward(self, x: Tensor) -> Tensor:
        *_, (_, last) = self._walk(x)
        return last
