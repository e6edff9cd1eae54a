import torch
from torch import Tensor, nn


class LoRALinear(nn.Module):
    """By einsum; the scale is a buffer's number."""

    def __init__(self, in_features: int, out_features: int, rank: int, alpha: float) -> None:
        if rank <= 0:
            raise ValueError(f"rank={rank}")
        super().__init__()
        self.linear = nn.Linear(in_features, out_features).requires_grad_(False)
        self.register_parameter("A", nn.Parameter(torch.randn(rank, in_features) * 0.02))
        self.register_parameter("B", nn.Parameter(torch.zeros(out_features, rank)))
        self.by = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        detour = torch.einsum("or,ri,bti->bto", self.B, self.A, x)
        straight = torch.einsum("oi,bti->bto", self.linear.weight, x) + self.linear.bias
        return straight + detour * self.by
