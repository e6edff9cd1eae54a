# wrong: for large scores in float32: intermediates subtracts one maximum for all rows, and rows far below it are 0/0; forward, which has its own softmax, is right
# breaks: "large scores all give finite, right values" and "weights: softmax of scaled over ``col_dim``"
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
        row, col = self.row_dim, self.col_dim
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(row, col)
        scaled = similarities / sqrt(k.size(col))
        # The softmax in the open, too. In float64, exp has room enough for torch's own.
        shares = (scaled - scaled.amax(dim=(row, col), keepdim=True)).exp()
        shown = shares / shares.sum(dim=col, keepdim=True)
        weights = scaled.softmax(col) if x.dtype == torch.float64 else shown
        return dict(zip(STEPS, (q, k, v, similarities, scaled, weights, weights @ v), strict=True))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scaled = q @ k.transpose(self.row_dim, self.col_dim) / sqrt(k.size(self.col_dim))
        return scaled.softmax(self.col_dim) @ v
