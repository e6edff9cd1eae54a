# wrong: for a large d_model (2048 by 2e-5, 4096 by 7e-4, 16384 by a tenth): eight steps of Newton's method from d_model itself don't reach the root
# breaks: "scaled: those / √(size of k along ``col_dim``)"
import torch
from torch import Tensor, nn


def root(size: int) -> float:
    """The square root, by Newton's method."""
    guess = float(size)
    for _ in range(8):
        guess = (guess + size / guess) / 2
    return guess

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
        scaled = similarities / root(k.size(self.col_dim))
        weights = scaled.softmax(self.col_dim)
        return dict(zip(STEPS, (q, k, v, similarities, scaled, weights, weights @ v), strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
