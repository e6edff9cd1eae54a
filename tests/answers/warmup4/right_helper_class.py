# unusual: a dataclass holds the steps, and vars() makes the dict of it
from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import torch
from torch import Tensor, nn


@dataclass
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
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("dims", torch.tensor([row_dim, col_dim]), persistent=False)
        self.row, self.col = row_dim, col_dim

    def _run(self, x: Tensor) -> Steps:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ torch.transpose(k, self.row, self.col)
        scaled = similarities / k.size(dim=self.col) ** 0.5
        weights = nn.Softmax(dim=self.col)(scaled)
        return Steps(q, k, v, similarities, scaled, weights, weights @ v)

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        return self._run(x).as_dict()

    def forward(self, x: Tensor) -> Tensor:
        return self._run(x).output
