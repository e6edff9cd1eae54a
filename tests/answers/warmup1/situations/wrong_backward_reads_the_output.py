# wrong: when the output is changed in place before backward (y = self_attention(x); y += x): backward reads what was made of it, and x gets a wrong gradient
# breaks: "gradients reach ``x``"
import torch
from torch import Tensor


class Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        weights = (x @ x.mT).softmax(-1)
        out = weights @ x
        ctx.save_for_backward(x, weights)
        ctx.out = out.detach()
        return out

    @staticmethod
    def backward(ctx, grad):
        x, weights = ctx.saved_tensors
        delta = (grad * ctx.out).sum(-1, keepdim=True)  # as in FlashAttention
        scores = weights * (grad @ x.mT - delta)
        return weights.mT @ grad + scores @ x + scores.mT @ x


def self_attention(x: Tensor) -> Tensor:
    return Flash.apply(x)
