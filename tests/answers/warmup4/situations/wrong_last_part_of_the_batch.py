# wrong: for B above 32: the batch goes in parts of 32, and the steps of each part take the place of those before, so the last part alone comes back
# breaks: "The three projections, (B, T, C) ...; similarities ... (B, T, T) ...; output: weights·v."
from math import sqrt

import torch
from torch import Tensor, nn

MOST = 32  # sequences at a time
STEPS = ("q", "k", "v", "similarities", "scaled", "weights", "output")


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for part in x.split(MOST) if x.dim() == 3 else (x,):
            found.update(self.steps(part))
        return found

    def steps(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / sqrt(k.size(self.col_dim))
        weights = scaled.softmax(self.col_dim)
        return dict(zip(STEPS, (q, k, v, similarities, scaled, weights, weights @ v), strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
