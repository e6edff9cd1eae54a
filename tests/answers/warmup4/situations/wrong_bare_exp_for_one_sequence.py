# wrong: 'large scores all give finite, right values': with row_dim = 0 the softmax is written out, without the maximum
from math import sqrt

import torch
from torch import Tensor, nn
STEPS = ("q", "k", "v", "similarities", "scaled", "weights", "output")


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        if self.row_dim == 0:
            similarities = q @ k.T
            scaled = similarities / sqrt(k.size(1))
            parts = scaled.exp()
            weights = parts / parts.sum(1, keepdim=True)
        else:
            similarities = q @ k.mT
            scaled = similarities / sqrt(k.size(-1))
            weights = scaled.softmax(-1)
        found = (q, k, v, similarities, scaled, weights, weights @ v)
        return dict(zip(STEPS, found, strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
