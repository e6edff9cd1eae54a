import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LoRALinear(nn.Module):
    """The detour is added to W first."""

    def __init__(self, in_features: int, out_features: int, rank: int, alpha: float) -> None:
        super().__init__()
        if not rank >= 1:
            raise ValueError(f"{rank} is no rank")
        self.rank, self.alpha = rank, alpha
        self.linear = nn.Linear(in_features, out_features)
        for parameter in self.linear.parameters():
            parameter.requires_grad = False
        self.A = nn.Parameter(torch.empty(rank, in_features))
        self.B = nn.Parameter(torch.empty(out_features, rank))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        nn.init.zeros_(self.B)

    def forward(self, x: Tensor) -> Tensor:
        whole = self.linear.weight + self.alpha * (self.B @ self.A) / self.rank
        return F.linear(x, whole, self.linear.bias)
