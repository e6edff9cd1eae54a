# wrong: 'gradients reach x' (right ones): backward writes its result into the incoming gradient, which a residual x + f(x) shares
import torch
from torch import Tensor


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        weights = (x @ x.mT).softmax(-1)
        ctx.save_for_backward(x, weights)
        return weights @ x

    @staticmethod
    def backward(ctx, grad):
        x, weights = ctx.saved_tensors
        into = grad @ x.mT
        scores = weights * (into - (weights * into).sum(-1, keepdim=True))
        found = weights.mT @ grad + scores @ x + scores.mT @ x
        return grad.copy_(found)  # no second tensor of this size


def self_attention(x: Tensor) -> Tensor:
    return Mix.apply(x)
