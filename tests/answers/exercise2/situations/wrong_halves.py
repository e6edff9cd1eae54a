# wrong: the dot products are summed in two halves of C // 2 features, which drops the last feature (odd C)
# breaks: "Self-attention, version 2: one fused projection, then softmax(q·kᵀ/√C)·v."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).split(self.hidden_dim, dim=-1)
        k = k.transpose(-2, -1)
        half = self.hidden_dim // 2
        # two short sums round less than a long one
        scores = q[..., :half] @ k[:, :half] + q[..., half : 2 * half] @ k[:, half : 2 * half]
        return torch.softmax(scores / math.sqrt(self.hidden_dim), dim=-1) @ v
