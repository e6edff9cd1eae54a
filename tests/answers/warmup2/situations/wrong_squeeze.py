# wrong: the batch axis is taken off again even if it came with x (a batch of one sequence)
# breaks: "(T, d_out) or (B, T, d_out), as ``x`` came."

import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.key = nn.Parameter(torch.randn(d_in, d_out) * 0.1)
        self.value = nn.Parameter(torch.randn(d_in, d_out) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            x = x.unsqueeze(0)
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_out)
        out = torch.bmm(torch.softmax(scores, dim=-1), v)
        return out.squeeze(0)
