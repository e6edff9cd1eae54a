"""Rows of length one.

Each row keeps its direction and is divided by its length; a row of zeros stays as it is.
"""

from torch import Tensor


def unit_rows(x: Tensor) -> Tensor:
    """Divide each row by √(Σ x² + 1e-6), where the sum runs over the last axis.

    Args:
        x: (B, T, C), of any float dtype.

    Returns:
        (B, T, C), of the dtype of x.
    """
    raise NotImplementedError
