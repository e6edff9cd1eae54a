# Strange: an autograd.Function with the backward pass written by hand.
import torch
from torch import Tensor


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        w = torch.softmax(x @ x.mT, -1)
        ctx.save_for_backward(x, w)
        return w @ x

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        wide = torch.promote_types(x.dtype, torch.float32)
        x, w, g = x.to(wide), w.to(wide), g.to(wide)
        gw = g @ x.mT
        gs = w * (gw - (gw * w).sum(-1, keepdim=True))
        return (w.mT @ g + (gs + gs.mT) @ x).to(ctx.saved_tensors[0].dtype)


def self_attention(x: Tensor) -> Tensor:
    return _Mix.apply(x)
