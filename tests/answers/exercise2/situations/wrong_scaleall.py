# wrong: under no_grad q, k and v, not only q and k, are scaled in place by C^(-1/4) (no_grad, C > 1)
# breaks: "The root divides the scores, before the softmax, which runs over the keys: for each query the weights add up to 1."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.proj(x)
        if torch.is_grad_enabled():
            q, k, v = qkv.chunk(3, dim=-1)
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        else:
            # in place: scale (B, T, C) instead of (B, T, T)
            q, k, v = qkv.mul_(self.hidden_dim**-0.25).chunk(3, dim=-1)
            scores = q @ k.transpose(-2, -1)
        return torch.softmax(scores, dim=-1) @ v
