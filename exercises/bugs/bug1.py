"""Outputs that shrink as the model grows.

A colleague reports: "I widened the model from 64 to 1024 and the attention layer went quiet. Its
outputs are tiny, about thirty times smaller than the values that go in, and the maps look nearly
one-hot from the first step. At width 1 it was perfect, so the code can't be wrong, can it?"

The contract is that of exercise2: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    """One head of self-attention with queries, keys and values from one layer.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence, (B, T, C)."""
        q, k, v = self.proj(x).split(self.hidden_dim, dim=-1)
        weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1) / sqrt(self.hidden_dim)
        return weights @ v
