# wrong: 'gradients reach x and every parameter': the keys are made under no_grad
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
        with torch.no_grad():
            k = self.key(x)  # the keys are only looked up
        q, v = self.query(x), self.value(x)
        return torch.softmax(q @ k.mT / math.sqrt(self.d_out), dim=-1) @ v
