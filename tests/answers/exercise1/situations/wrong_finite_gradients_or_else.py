# wrong: 'don't branch on values': a hook asserts that gradients are finite, which stops a scaled loss whose overflow is to be skipped, and fails on meta
from math import sqrt

import torch
from torch import Tensor, nn


def checked(grad: Tensor) -> Tensor:
    assert bool(torch.isfinite(grad).all()), "the gradient explodes"
    return grad


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        out = (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
        if out.requires_grad:
            out.register_hook(checked)
        return out
