# wrong: 'nothing is remembered': under no_grad a joined matrix is kept until _version changes, which p.data.mul_ and the like leave alone
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self._joined = None

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (x @ self._matrix()).chunk(3, -1)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v

    def _matrix(self) -> Tensor:
        own = (self.query, self.key, self.value)
        if torch.is_grad_enabled():
            return torch.cat(own, 1)
        stamp = [(p.data_ptr(), p._version, p.dtype, p.device) for p in own]
        if self._joined is None or self._joined[0] != stamp:
            self._joined = stamp, torch.cat(own, 1)
        return self._joined[1]
