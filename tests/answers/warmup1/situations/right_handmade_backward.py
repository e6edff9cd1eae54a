# right: one autograd.Function with the derivative worked out on paper, wide inside for bfloat16
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        z = x.to(torch.promote_types(x.dtype, torch.float32))
        s = z @ z.mT
        p = torch.exp(s - s.amax(-1, keepdim=True))
        p = p / p.sum(-1, keepdim=True)
        ctx.save_for_backward(z, p)
        ctx.narrow = x.dtype
        return (p @ z).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        z, p = ctx.saved_tensors
        g = grad.to(z.dtype)
        dp = g @ z.mT
        ds = p * (dp - (dp * p).sum(-1, keepdim=True))
        # z stands in three places: as query, as key, as value
        dz = ds @ z + ds.mT @ z + p.mT @ g
        return dz.to(ctx.narrow)


def self_attention(x: Tensor) -> Tensor:
    """softmax(x·xᵀ)·x"""
    return _Mix.apply(x)
