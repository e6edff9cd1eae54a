# wrong: 'gradients reach ... every parameter': the custom backward gives none when x needs none
import math

import torch
from torch import Tensor, nn


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        if not ctx.needs_input_grad[0]:
            return None, None
        x, w = ctx.saved_tensors
        return g @ w.T, x.flatten(0, -2).T @ g.flatten(0, -2)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.key = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.value = nn.Parameter(torch.randn(d_in, d_out) / d_in)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (_Project.apply(x, w) for w in (self.query, self.key, self.value))
        return torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), dim=-1) @ v
