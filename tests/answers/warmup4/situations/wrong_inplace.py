# wrong: the scores are divided in place, so "similarities" is returned divided too (intermediates only; forward is right)
# breaks: "The three projections, (B, T, C) or (T, C); similarities: q·k', where k' is k with ``row_dim`` and ``col_dim`` swapped, (B, T, T) or (T, T); scaled: those / √(size of k along ``col_dim``); weights: softmax of scaled over ``col_dim``; output: weights·v."

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities.div_(k.size(self.col_dim) ** 0.5)
        weights = torch.softmax(scaled, dim=self.col_dim)
        return {
            "q": q,
            "k": k,
            "v": v,
            "similarities": similarities,
            "scaled": scaled,
            "weights": weights,
            "output": weights @ v,
        }

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
