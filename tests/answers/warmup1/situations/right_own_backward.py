# right: custom autograd.Function with the right gradient
import torch
from torch import Tensor


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        p = torch.softmax(x @ x.mT, dim=-1)
        ctx.save_for_backward(x, p)
        return p @ x

    @staticmethod
    def backward(ctx, g):
        x, p = ctx.saved_tensors
        dp = g @ x.mT
        ds = p * (dp - (dp * p).sum(-1, keepdim=True))
        return p.mT @ g + ds @ x + ds.mT @ x


def self_attention(x: Tensor) -> Tensor:
    return _Mix.apply(x)
