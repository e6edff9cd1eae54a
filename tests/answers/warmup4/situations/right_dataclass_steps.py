# right: the steps are a dataclass that turns itself into a dict; postponed annotations
from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Steps:
    q: Tensor
    k: Tensor
    v: Tensor
    similarities: Tensor
    scaled: Tensor
    weights: Tensor
    output: Tensor

    def as_dict(self) -> dict[str, Tensor]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_k = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.W_v = nn.Linear(in_features=d_model, out_features=d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def _steps(self, x: Tensor) -> Steps:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.swapaxes(self.row_dim, self.col_dim)
        scaled = similarities / k.shape[self.col_dim] ** 0.5
        powers = torch.exp(scaled - scaled.amax(dim=self.col_dim, keepdim=True))
        weights = powers / powers.sum(dim=self.col_dim, keepdim=True)
        return Steps(q, k, v, similarities, scaled, weights, weights @ v)

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        return self._steps(x).as_dict()

    def forward(self, x: Tensor) -> Tensor:
        return self._steps(x).output
