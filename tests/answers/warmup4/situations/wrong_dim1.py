# wrong: the softmax runs over dim 1 whatever col_dim is, the queries of a batch (3-D x with row_dim=-2, col_dim=-1)
# breaks: "scaled: those / √(size of k along ``col_dim``); weights: softmax of scaled over ``col_dim``; output: weights·v."

import math

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
        steps = {"q": self.W_q(x), "k": self.W_k(x), "v": self.W_v(x)}
        keys = steps["k"].transpose(self.row_dim, self.col_dim)
        steps["similarities"] = torch.matmul(steps["q"], keys)
        steps["scaled"] = steps["similarities"] / math.sqrt(steps["k"].size(self.col_dim))
        steps["weights"] = steps["scaled"].softmax(dim=1)
        steps["output"] = torch.matmul(steps["weights"], steps["v"])
        return steps

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
