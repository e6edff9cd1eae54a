# wrong: the hand-written backward leaves out the part of the gradient that comes through the keys (backward, T > 1)
# breaks: "The vectors of a sequence are queries, keys and values at once, so there is nothing to learn."

import torch
from torch import Tensor


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        weights = torch.softmax(x @ x.transpose(-2, -1), dim=-1)
        ctx.save_for_backward(x, weights)
        return weights @ x

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        x, weights = ctx.saved_tensors
        d_values = weights.transpose(-2, -1) @ grad
        d_weights = grad @ x.transpose(-2, -1)
        d_scores = weights * (d_weights - (d_weights * weights).sum(dim=-1, keepdim=True))
        return d_values + d_scores @ x


def self_attention(x: Tensor) -> Tensor:
    return _Attention.apply(x)
