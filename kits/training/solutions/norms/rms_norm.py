"""RMS norm, with its backward written by hand.

Not to be used: torch's `rms_norm`, `layer_norm` and `normalize`, also as layers; `grad`,
`enable_grad` and `vjp`.
"""

from typing import Any

from torch import Tensor
from torch.autograd import Function


class RMSNorm(Function):
    """Function of x and weight, which `rms_norm` applies."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Compute y = weight · x / √(mean(x²) + 1e-6), the mean over the last axis.

        Args:
            ctx: Keeps what the backward needs.
            x: (B, T, C), float32, float64 or bfloat16, to which every step may round.
            weight: (C,), of the dtype of x.

        Returns:
            (B, T, C), of the dtype of x.
        """
        scale = (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()  # (B, T, 1)
        normed = x * scale  # (B, T, C)
        ctx.save_for_backward(normed, scale, weight)
        return normed * weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        """Give the gradients of x and weight.

        Args:
            ctx: What the forward kept.
            grad: (B, T, C), the gradient of y.

        Returns:
            Gradients of the shapes and dtypes of x and weight: exactly those of the formula, for
            thousands of vectors in bfloat16 as well.
        """
        normed, scale, weight = ctx.saved_tensors
        grad_weight = (grad * normed).sum((0, 1))  # (C,)
        grad_normed = grad * weight  # (B, T, C)
        along = (grad_normed * normed).mean(-1, keepdim=True)  # what would move the root
        grad_x = scale * (grad_normed - normed * along)
        return grad_x, grad_weight


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    """Give RMSNorm of x and weight; this is what is called, and stays as it is."""
    return RMSNorm.apply(x, weight)
