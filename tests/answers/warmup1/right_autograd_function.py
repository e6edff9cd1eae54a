# unusual: a hand-written backward pass
import torch
from torch import Tensor
from torch.autograd import Function


class _Attend(Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        w = torch.softmax(x @ x.mT, dim=-1)
        ctx.save_for_backward(x, w)
        return w @ x

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        x, w = ctx.saved_tensors
        dw = grad @ x.mT
        ds = w * (dw - (dw * w).sum(-1, keepdim=True))
        return w.mT @ grad + ds @ x + ds.mT @ x


def self_attention(x: Tensor) -> Tensor:
    return _Attend.apply(x)
