# wrong: when a subclass overrides intermediates (to hide the future, say): forward computes by itself, and knows nothing of it
# breaks: "Return the ``output`` of ``intermediates(x)``."
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
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / sqrt(k.size(self.col_dim))
        weights = scaled.softmax(self.col_dim)
        return dict(zip(STEPS, (q, k, v, similarities, scaled, weights, weights @ v), strict=True))

    def forward(self, x: Tensor) -> Tensor:
        # No dict, and nothing kept that nobody looks at.
        k = self.W_k(x).transpose(self.row_dim, self.col_dim)
        scaled = self.W_q(x) @ k / sqrt(k.size(self.row_dim))
        return scaled.softmax(self.col_dim) @ self.W_v(x)
