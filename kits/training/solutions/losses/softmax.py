"""Softmax, with its backward written by hand.

Each vector of the last axis becomes shares that add up to 1. That every entry of a vector moves all
of its shares is what makes the backward worth writing.

Not to be used: torch's `softmax`, `softmin`, `log_softmax`, `logsumexp`, `logaddexp` and
`logcumsumexp`, also as layers; `grad`, `enable_grad` and `vjp`.
"""

from typing import Any

from torch import Tensor
from torch.autograd import Function


class Softmax(Function):
    """Function of x, which `softmax` applies."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Compute p = exp(x) / Σ exp(x), where the sum runs over the last axis.

        The shares are right for all x up to 1e8 in size: also for vectors of very large or very
        negative entries, and for vectors far apart from one another.

        Args:
            ctx: Keeps what the backward needs.
            x: (B, T, C), float32, float64 or bfloat16; C may be thousands.

        Returns:
            (B, T, C), of the dtype of x.
        """
        exps = (x - x.amax(-1, keepdim=True)).exp()  # (B, T, C), at most 1
        shares = exps / exps.sum(-1, keepdim=True)  # (B, T, C)
        ctx.save_for_backward(shares)
        return shares

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Give the gradient of x.

        Args:
            ctx: What the forward kept.
            grad: (B, T, C), the gradient of p.

        Returns:
            (B, T, C), of the dtype of x: exactly the gradient of the formula.
        """
        (shares,) = ctx.saved_tensors
        mean = (grad * shares).sum(-1, keepdim=True)  # (B, T, 1), of the gradient, by share
        return shares * (grad - mean)


def softmax(x: Tensor) -> Tensor:
    """Give Softmax of x; this is what is called, and stays as it is."""
    return Softmax.apply(x)
