# right: an OrderedDict; keys permuted with movedim; the layers made in a loop with setattr
from collections import OrderedDict

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        for letter in "qkv":
            setattr(self, f"W_{letter}", nn.Linear(d_model, d_model, False))
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        steps = OrderedDict((n, getattr(self, "W_" + n)(x)) for n in "qkv")
        flipped = steps["k"].movedim(self.row_dim, self.col_dim)
        steps["similarities"] = torch.matmul(steps["q"], flipped)
        steps["scaled"] = torch.true_divide(steps["similarities"], steps["k"].size(dim=self.col_dim) ** 0.5)
        steps["weights"] = nn.Softmax(dim=self.col_dim)(steps["scaled"])
        steps["output"] = torch.matmul(steps["weights"], steps["v"])
        return steps

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
