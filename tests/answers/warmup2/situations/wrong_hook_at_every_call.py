# wrong: 'nothing is remembered from one call to the next': each call with gradients hangs one more hook on the parameter and divides its gradient by the number of calls so far
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.uses = 0

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled() and self.key.requires_grad:
            self.uses += 1
            self.key.register_hook(lambda grad: grad / self.uses)  # a mean, where it is used often
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
