# right: no product of matrices after the projections
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = map(lambda layer: layer(x), (self.W_q, self.W_k, self.W_v))
        similarities = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1)
        scaled = similarities.div(math.sqrt(self.W_k.out_features))
        e = (scaled - scaled.detach().amax(self.col_dim, keepdim=True)).exp()
        weights = e / e.sum(self.col_dim, keepdim=True)
        output = (weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2)
        return dict(output=output, weights=weights, scaled=scaled, similarities=similarities, v=v, k=k, q=q)

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
