"""A linear layer with a low-rank adapter (LoRA).

The layer itself is frozen; what is learned is a small detour beside it, which changes nothing at
first.
"""

from torch import Tensor, nn


class LoRALinear(nn.Module):
    """Compute y = W x + b + (alpha / rank) · B (A x), for each vector x of the last axis.

    Attributes:
        linear: ``nn.Linear(in_features, out_features)``, which holds W and b. Both are frozen: they
            require no gradient, and get none.
        A: Parameter (rank, in_features), random at the start, in each layer anew, all entries
            different from 0.
        B: Parameter (out_features, rank), zeros at the start.
    """

    def __init__(self, in_features: int, out_features: int, rank: int, alpha: float) -> None:
        """Make the layer and its adapter.

        Args:
            in_features: Width of x.
            out_features: Width of y.
            rank: Of the adapter, at least 1; it may be larger than either width.
            alpha: Scales the adapter, together with the rank; it is not learned.

        Raises:
            ValueError: The rank is less than 1; the message gives it.
        """
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Apply layer and adapter.

        Args:
            x: (B, T, in_features), of the dtype of the parameters.

        Returns:
            (B, T, out_features), of the dtype of x. It has a gradient by x through both paths.
        """
        raise NotImplementedError
