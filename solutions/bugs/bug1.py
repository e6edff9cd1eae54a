"""Outputs that shrink as the model grows: solved.

The root divided the weights after the softmax. So the scores went in unscaled and drove the
softmax to one-hot rows, and what came out was divided: each query's weights summed to 1/√C. At C
= 1 the root is 1, and nothing shows. Inside the parentheses it does its work: it keeps the scores
soft.
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
        weights = torch.softmax(q @ k.transpose(-2, -1) / sqrt(self.hidden_dim), dim=-1)
        return weights @ v
