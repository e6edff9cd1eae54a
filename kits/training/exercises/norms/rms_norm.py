"""RMS norm, with its backward written by hand.

Each vector of the last axis is divided by the root of the mean of its squares, and scaled. Nothing
is subtracted: that is what it leaves out of layer norm.

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
        raise NotImplementedError

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
        raise NotImplementedError


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    """Give RMSNorm of x and weight; this is what is called, and stays as it is."""
    return RMSNorm.apply(x, weight)
