# wrong: 'query: nn.Parameter, (d_in, d_out)': stored as (d_out, d_in), as a linear layer does
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(d_in)
        self.query = nn.Parameter(torch.empty(d_out, d_in).uniform_(-bound, bound))
        self.key = nn.Parameter(torch.empty(d_out, d_in).uniform_(-bound, bound))
        self.value = nn.Parameter(torch.empty(d_out, d_in).uniform_(-bound, bound))
        self.scale = math.sqrt(d_out)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (F.linear(x, w) for w in (self.query, self.key, self.value))
        return torch.softmax(q @ k.mT / self.scale, dim=-1) @ v
