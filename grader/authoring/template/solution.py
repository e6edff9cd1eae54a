"""Rows of length one."""

from torch import Tensor


def unit_rows(x: Tensor) -> Tensor:
    """Divide each row by √(Σ x² + 1e-6), where the sum runs over the last axis.

    Args:
        x: (B, T, C), of any float dtype.

    Returns:
        (B, T, C), of the dtype of x.
    """
    squares = x.square().sum(-1, keepdim=True)  # (B, T, 1)
    return x / (squares + 1e-6).sqrt()
