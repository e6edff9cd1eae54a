from typing import Any

import torch
from torch import Tensor


class _CrossEntropy(torch.autograd.Function):
    """The gradient is softmax less one-hot, by N."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        shifted = logits - logits.max(dim=-1, keepdim=True)[0]
        powers = torch.exp(shifted)
        sums = powers.sum(dim=-1, keepdim=True)
        ctx.save_for_backward(powers / sums, labels)
        rows = torch.arange(len(labels), device=labels.device)
        return (torch.log(sums)[:, 0] - shifted[rows, labels]).mean()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        shares, labels = ctx.saved_tensors
        rows = torch.arange(len(labels), device=labels.device)
        slope = shares.clone()
        slope[rows, labels] -= 1
        return grad * slope / len(labels), None


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """With a backward written by hand."""
    return _CrossEntropy.apply(logits, labels)
