# wrong: for a float64 module on any device but the CPU: the root, exact to the last digit, is a tensor on the CPU
# breaks: "Module and ``x`` are float32, float64 or bfloat16 ..., on any device, even ``meta``"
from math import sqrt

import torch
from torch import Tensor, nn


def root(size: int, like: Tensor) -> Tensor | float:
    """The square root; in float64, as a float64 tensor."""
    if like.dtype == torch.float64:
        return torch.tensor([size], dtype=torch.float64).sqrt()
    return sqrt(size)

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
        scaled = similarities / root(k.size(self.col_dim), k)
        weights = scaled.softmax(self.col_dim)
        return dict(zip(STEPS, (q, k, v, similarities, scaled, weights, weights @ v), strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
