# wrong: for two or more sequences with T above 64 on any device but the CPU: their outputs are written into a tensor that is made on the CPU
# breaks: "on any device, even ``meta``"
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
        q, k, v = self.q(x), self.k(x), self.v(x)
        B, T, C = x.shape
        if B == 1 or T <= 64:
            return (q @ k.mT / sqrt(C)).softmax(-1) @ v
        # Long sequences one by one: only one (T, T) matrix is there at a time.
        out = torch.empty(B, T, C, dtype=v.dtype)
        for b in range(B):
            out[b] = (q[b] @ k[b].mT / sqrt(C)).softmax(-1) @ v[b]
        return out
