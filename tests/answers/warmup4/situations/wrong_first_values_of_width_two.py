# wrong: 'with torch's own first values': drawn from ±√½ at every width, which is torch's own bound at d_model = 2 only
from math import sqrt

import torch
from torch import Tensor, nn
STEPS = ("q", "k", "v", "similarities", "scaled", "weights", "output")


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        made = [nn.utils.skip_init(nn.Linear, d_model, d_model, bias=False) for _ in range(3)]
        for layer in made:
            nn.init.uniform_(layer.weight, -(0.5**0.5), 0.5**0.5)
        self.W_q, self.W_k, self.W_v = made
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / sqrt(k.size(self.col_dim))
        weights = scaled.softmax(self.col_dim)
        found = (q, k, v, similarities, scaled, weights, weights @ v)
        return dict(zip(STEPS, found, strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
