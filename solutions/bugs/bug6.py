"""It works on one sentence: solved.

`transpose` wants the two axes that trade places; `.T` takes all of them, and of a batch it turns
the sequences into the features. Counted from the end, -2 and -1 are right with and without a
batch, and so is the axis of the softmax: dim=1 is the keys of a single sequence and the queries
of a batch.
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
        scores = q @ k.transpose(-2, -1)
        weights = torch.softmax(scores / sqrt(k.size(-1)), dim=-1)
        return weights @ v
