"""One-hot from the first step.

A colleague reports: "With three features, as in the notebook, it learns. With 256 the loss does
not move at all. The maps are one-hot before the first step, and all tokens look at the same one.
I did scale the scores: look, there is the root."

Beyond the contract, and checked here: a fresh module of a width of 256 spreads its attention, on
an input of standard normal numbers: a query's largest weight is below 0.5 on average.

The contract is that of warmup2: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
"""

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that may change the width.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.rand(d_in, d_out))
        self.key = nn.Parameter(torch.rand(d_in, d_out))
        self.value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Tensor) -> Tensor:
        """Attend within a sequence (T, d_in), or within each of a batch (B, T, d_in)."""
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        scores = q @ k.transpose(-2, -1) / k.size(-1) ** 0.5
        return torch.softmax(scores, dim=-1) @ v
