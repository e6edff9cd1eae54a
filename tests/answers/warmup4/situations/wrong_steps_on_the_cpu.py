# wrong: 'on any device, even meta': the steps are brought to the cpu to be looked at
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
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / math.sqrt(k.size(self.col_dim))
        weights = torch.softmax(scaled, dim=self.col_dim)
        steps = dict(q=q, k=k, v=v, similarities=similarities, scaled=scaled, weights=weights)
        steps = {name: step.cpu() for name, step in steps.items()}
        return steps | {"output": weights @ v}

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
