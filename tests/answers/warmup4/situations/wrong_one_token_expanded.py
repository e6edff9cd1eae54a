# wrong: under no_grad, for one sequence (T, C) that is one token expanded: similarities, scaled and weights come as (T, 1), not (T, T)
# breaks: "similarities: q·k' ..., (B, T, T) or (T, T)" and "a non-contiguous ``x``"
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
        if x.stride(0) == 0 and x.size(0) > 1 and not torch.is_grad_enabled():
            # An expanded batch is one sequence over and over: once is enough.
            once = self.intermediates(x[:1])
            return {name: step.expand(x.size(0), *step.shape[1:]) for name, step in once.items()}
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / sqrt(k.size(self.col_dim))
        weights = scaled.softmax(self.col_dim)
        return dict(zip(STEPS, (q, k, v, similarities, scaled, weights, weights @ v), strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
