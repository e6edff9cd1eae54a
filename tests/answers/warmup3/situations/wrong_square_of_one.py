# wrong: 'B = 1': the batch axis is squeezed away to use mm
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 3 and x.shape[0] == 1:
            x = x[0]  # a batch of one is one sequence
        if x.dim() == 2:
            q, k, v = self.query(x), self.key(x), self.value(x)
            return torch.mm(torch.softmax(torch.mm(q, k.t()) / math.sqrt(self.d_out), dim=1), v)
        return torch.stack([self(seq) for seq in x])
