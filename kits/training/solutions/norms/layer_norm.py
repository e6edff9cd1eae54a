"""Layer norm, with its backward written by hand.

Not to be used: torch's `layer_norm`, `batch_norm`, `group_norm` and `rms_norm`, also as layers;
`grad`, `enable_grad` and `vjp`.
"""

from typing import Any

from torch import Tensor
from torch.autograd import Function


class LayerNorm(Function):
    """Function of x, weight and bias, which `layer_norm` applies."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Compute y = weight · (x − μ) / √(σ² + 1e-5) + bias.

        μ is the mean of x over its last axis and σ² the mean of (x − μ)² over it: divided by C, not
        by C − 1.

        Args:
            ctx: Keeps what the backward needs.
            x: (B, T, C), float32, float64 or bfloat16, to which every step may round.
            weight: (C,), of the dtype of x.
            bias: (C,), of the dtype of x.

        Returns:
            (B, T, C), of the dtype of x.
        """
        centred = x - x.mean(-1, keepdim=True)  # (B, T, C)
        variance = centred.square().mean(-1, keepdim=True)  # (B, T, 1)
        scale = (variance + 1e-5).rsqrt()  # (B, T, 1)
        normed = centred * scale  # (B, T, C)
        ctx.save_for_backward(normed, scale, weight)
        return normed * weight + bias

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give the gradients of x, weight and bias.

        Args:
            ctx: What the forward kept.
            grad: (B, T, C), the gradient of y.

        Returns:
            Gradients of the shapes and dtypes of x, weight and bias: exactly those of the formula,
            for thousands of vectors in bfloat16 as well.
        """
        normed, scale, weight = ctx.saved_tensors
        grad_weight = (grad * normed).sum((0, 1))  # (C,)
        grad_bias = grad.sum((0, 1))  # (C,)
        grad_normed = grad * weight  # (B, T, C)
        along_ones = grad_normed.mean(-1, keepdim=True)  # what would move the mean
        along_normed = (grad_normed * normed).mean(-1, keepdim=True)  # what would move the variance
        grad_x = scale * (grad_normed - along_ones - normed * along_normed)
        return grad_x, grad_weight, grad_bias


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Give LayerNorm of x, weight and bias; this is what is called, and stays as it is."""
    return LayerNorm.apply(x, weight, bias)
