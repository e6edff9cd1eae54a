from typing import Any

import torch
from torch import Tensor


class RMSNorm(torch.autograd.Function):
    """By the quotient rule; x is kept, and all else computed anew."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return weight * x / torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + 1e-6)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        root = torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + 1e-6)
        into = grad * weight
        share = x / root
        dot = (into * share).sum(dim=-1, keepdim=True) / x.shape[-1]
        flat = (grad * share).reshape(-1, x.shape[-1])
        return (into - share * dot) / root, flat.sum(dim=0)


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return RMSNorm.apply(x, weight)
