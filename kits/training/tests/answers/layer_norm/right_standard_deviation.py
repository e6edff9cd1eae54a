from typing import Any

import torch
from torch import Tensor


class LayerNorm(torch.autograd.Function):
    """By the standard deviation; x is kept, and all else computed anew."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(bias, weight, (x - mean) / torch.sqrt(variance + 1e-5))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        width = x.shape[-1]
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        root = torch.sqrt(variance + 1e-5)
        away = x - mean
        into = grad * weight
        by_variance = (into * away).sum(-1, keepdim=True) / (-2 * root**3)
        by_away = into / root + 2 * away * by_variance / width
        by_x = by_away - by_away.sum(-1, keepdim=True) / width
        flat = grad.reshape(-1, width)
        return by_x, (flat * (away / root).reshape(-1, width)).sum(0), flat.sum(0)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply it."""
    return LayerNorm.apply(x, weight, bias)
