"""A linear layer with a low-rank adapter (LoRA)."""

import torch
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
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}")
        self.linear = nn.Linear(in_features, out_features)
        self.linear.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, in_features) / in_features**0.5)
        self.B = nn.Parameter(torch.zeros(out_features, rank))
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        """Apply layer and adapter.

        Args:
            x: (B, T, in_features), of the dtype of the parameters.

        Returns:
            (B, T, out_features), of the dtype of x. It has a gradient by x through both paths.
        """
        down = x @ self.A.T  # (B, T, rank)
        up = down @ self.B.T  # (B, T, out_features)
        return self.linear(x) + self.scale * up
