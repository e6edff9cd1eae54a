# wrong: when query and key are frozen and x needs no gradient: value, which alone learns, gets none
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, v):
        ctx.save_for_backward(weights, v)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        weights, v = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:
            return None, None
        return grad @ v.mT, weights.mT @ grad


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return Mix.apply((q @ k.mT / sqrt(q.size(-1))).softmax(-1), v)
