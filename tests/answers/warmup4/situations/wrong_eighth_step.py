# wrong: 'these seven': an eighth, k_t, comes along
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
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        k_t = k.transpose(self.row_dim, self.col_dim)
        similarities = q @ k_t
        scaled = similarities / math.sqrt(k.size(self.col_dim))
        weights = F.softmax(scaled, dim=self.col_dim)
        output = weights @ v
        return {n: t for n, t in locals().items() if isinstance(t, Tensor) and n != "x"}

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
