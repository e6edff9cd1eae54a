"""One-hot from the first step: solved.

The root divides out what the dot product adds up, and expects queries and keys of variance 1.
Numbers drawn from [0, 1) have a mean of a half: every feature of a query is then nearly the same
large sum, the scores grow with the width, and the softmax saturates. Centred numbers of variance
1/d_in keep the variance of what goes in.
"""

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that may change the width.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / d_in**0.5)
        self.key = nn.Parameter(torch.randn(d_in, d_out) / d_in**0.5)
        self.value = nn.Parameter(torch.randn(d_in, d_out) / d_in**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Attend within a sequence (T, d_in), or within each of a batch (B, T, d_in)."""
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        scores = q @ k.transpose(-2, -1) / k.size(-1) ** 0.5
        return torch.softmax(scores, dim=-1) @ v
