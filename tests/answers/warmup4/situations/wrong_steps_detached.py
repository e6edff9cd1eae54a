# wrong: 'gradients reach x and every parameter': the steps of intermediates are detached, only `output` leads back
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
        steps = dict(zip(STEPS, (q, k, v, similarities, scaled, weights), strict=False))
        shown = {name: step.detach() for name, step in steps.items()}
        return {**shown, "output": weights @ v}

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
