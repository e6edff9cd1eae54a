import torch
from torch import Tensor, nn


class LoRALinear(nn.Module):
    """One product with [W, B], of x beside its scaled A x."""

    def __init__(self, in_features: int, out_features: int, rank: int, alpha: float) -> None:
        super().__init__()
        if rank < 1:
            raise ValueError(f"a rank of {rank} is too small")
        base = nn.Linear(in_features, out_features)
        base.weight.requires_grad_(False)
        base.bias.requires_grad_(False)
        self.linear = base
        self.A = nn.Parameter(torch.rand(rank, in_features) + 0.01)
        self.B = nn.Parameter(torch.zeros(out_features, rank))
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        small = self.scale * nn.functional.linear(x, self.A)
        both = torch.cat((self.linear.weight, self.B), dim=1)
        return torch.cat((x, small), dim=-1) @ both.mT + self.linear.bias
