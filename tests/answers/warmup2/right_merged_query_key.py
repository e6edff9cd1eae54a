# unusual: query and key matrices are multiplied first: x (Q Kt) xt, and value comes last: (w x) V
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.key = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.value = nn.Parameter(torch.randn(d_in, d_out) / d_in)

    def forward(self, x: Tensor) -> Tensor:
        metric = self.query @ self.key.T
        scores = x @ metric @ x.transpose(-2, -1)
        weights = torch.softmax(scores / math.sqrt(self.query.size(1)), dim=-1)
        return weights @ x @ self.value
