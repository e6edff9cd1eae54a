# wrong: one sequence (T, d_in) is taken for a batch of T sequences of one token each (2-D x, T > 1)
# breaks: "Let each position attend to every position of its own sequence."

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
        alone = x.dim() == 2
        if alone:
            x = x.unsqueeze(1)
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_out)
        out = torch.bmm(torch.softmax(scores, dim=-1), v)
        return out.squeeze(1) if alone else out
