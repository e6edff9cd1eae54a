# wrong: 'row_dim: 0 ...; -2 for (T, C)' and 'col_dim: 1 ...; -1 for (T, C)': 0 with -1, and -2 with 1, take the tokens for the features
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
        rows = -2 if self.row_dim < 0 else 0
        cols = rows + 1
        if (self.row_dim, self.col_dim) not in ((0, 1), (-2, -1)):
            rows, cols = cols, rows
        similarities = q @ k.transpose(rows, cols)
        scaled = similarities / sqrt(k.size(cols))
        weights = scaled.softmax(cols)
        found = (q, k, v, similarities, scaled, weights, weights @ v)
        return dict(zip(STEPS, found, strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
