# unusual: keeps row_dim and col_dim but computes on the last two axes, which they always name
import math
from collections import OrderedDict

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.d_model, self.row_dim, self.col_dim = d_model, row_dim, col_dim
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        steps = OrderedDict()
        steps["q"] = self.W_q(x)
        steps["k"] = self.W_k(x)
        steps["v"] = self.W_v(x)
        steps["similarities"] = torch.einsum("...ic,...jc->...ij", steps["q"], steps["k"])
        steps["scaled"] = steps["similarities"] / math.sqrt(self.d_model)
        steps["weights"] = torch.softmax(steps["scaled"], dim=-1)
        steps["output"] = torch.einsum("...ij,...jc->...ic", steps["weights"], steps["v"])
        return steps

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
