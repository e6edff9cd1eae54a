# unusual: the module is a dataclass, with super().__init__() in __post_init__
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(eq=False, repr=False)
class SelfAttentionV1(nn.Module):
    hidden_dim: int

    def __post_init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(self.hidden_dim, self.hidden_dim)
        self.k = nn.Linear(self.hidden_dim, self.hidden_dim)
        self.v = nn.Linear(self.hidden_dim, self.hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.einsum("btc,bsc->bts", self.q(x), self.k(x))
        weights = (scores / self.hidden_dim**0.5).softmax(dim=-1)
        return torch.einsum("bts,bsc->btc", weights, self.v(x))
