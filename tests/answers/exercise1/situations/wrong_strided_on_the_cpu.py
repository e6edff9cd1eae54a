# wrong: for a non-contiguous x on any device but the CPU: it is copied into a tensor that is made on the CPU, and the layers are not there
# breaks: "on any device, even ``meta``" and "a non-contiguous ``x``"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        if not x.is_contiguous():
            x = torch.empty(x.shape, dtype=x.dtype).copy_(x)
        q, k, v = self.q(x), self.k(x), self.v(x)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
