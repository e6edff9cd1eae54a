# wrong: in training with an x that needs no gradient, retain_grad raises
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
        if self.training and torch.is_grad_enabled():
            x.retain_grad()  # the tests look at x.grad
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        att = torch.softmax((q @ k.transpose(-2, -1)) / math.sqrt(self.d_out), dim=-1)
        return att @ v
