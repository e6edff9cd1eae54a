# unusual: einsum with an ellipsis, so one line serves with and without a batch
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Parameter(torch.randn(d_in, d_out) / math.sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / math.sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / math.sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (torch.einsum("...ti,io->...to", x, w) for w in (self.query, self.key, self.value))
        scores = torch.einsum("...qo,...ko->...qk", q, k) / math.sqrt(self.d_out)
        return torch.einsum("...qk,...ko->...qo", scores.softmax(-1), v)
