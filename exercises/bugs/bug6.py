"""It works on one sentence.

A colleague reports: "For a single sentence in the notebook it did what it should, after I had
removed one line that crashed. Then I put it back to batch my data, and nothing works at all: one
call says something about arguments, and if I comment that out, the shapes do not match."

The contract is that of warmup3: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that may change the width.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        """Attend within a sequence (T, d_in), or within each of a batch (B, T, d_in)."""
        q, k, v = self.query(x), self.key(x), self.value(x)
        if x.dim() == 2:
            scores = torch.mm(q, k.transpose())
        else:
            scores = q @ k.T
        weights = torch.softmax(scores / sqrt(k.size(-1)), dim=1)
        return weights @ v
