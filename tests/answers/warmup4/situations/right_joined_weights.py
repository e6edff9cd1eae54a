# right: one F.linear with the joined weights at every call, then unbind
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        joined = torch.cat([self.W_q.weight, self.W_k.weight, self.W_v.weight])
        q, k, v = F.linear(x, joined).unflatten(-1, (3, -1)).unbind(-2)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / math.sqrt(k.size(self.col_dim))
        weights = torch.softmax(scaled, self.col_dim)
        return dict(q=q, k=k, v=v, similarities=similarities, scaled=scaled, weights=weights, output=weights @ v)

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
