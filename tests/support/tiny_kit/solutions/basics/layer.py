"""A linear layer."""

from torch import Tensor, nn


class Layer(nn.Module):
    """x·wᵀ + b."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C) -> (B, C)."""
        return self.linear(x)
