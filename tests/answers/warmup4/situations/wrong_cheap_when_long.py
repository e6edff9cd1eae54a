# wrong: 'gradients reach x and every parameter': above T = 200 the weights are made under no_grad, W_q and W_k get none
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

    def _weigh(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / math.sqrt(k.size(self.col_dim))
        return similarities, scaled, torch.softmax(scaled, dim=self.col_dim)

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        keep_graph = torch.is_grad_enabled() and x.size(self.row_dim) <= 200
        with torch.set_grad_enabled(keep_graph):
            similarities, scaled, weights = self._weigh(q, k)
        return dict(q=q, k=k, v=v, similarities=similarities, scaled=scaled, weights=weights, output=weights @ v)

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
