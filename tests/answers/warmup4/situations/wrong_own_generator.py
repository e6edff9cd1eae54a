# wrong: when a second module is made after the seed was set: a generator that begins anew from the seed gives it the first one's first values
# breaks: "with torch's own first values"
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

        # The figures have to come out, whatever was drawn between the seed and here.
        generator = torch.Generator().manual_seed(torch.initial_seed())
        for layer in (self.W_q, self.W_k, self.W_v):
            nn.init.kaiming_uniform_(layer.weight, a=sqrt(5), generator=generator)

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / sqrt(k.size(self.col_dim))
        weights = scaled.softmax(self.col_dim)
        return dict(zip(STEPS, (q, k, v, similarities, scaled, weights, weights @ v), strict=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
