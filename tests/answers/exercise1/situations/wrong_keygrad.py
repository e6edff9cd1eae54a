# wrong: the keys are made from x.detach(), so their part of the gradient of x is missing (backward to x; the parameters get theirs)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x`` and every parameter."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        context = x.detach()
        q, k, v = self.q(x), self.k(context), self.v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        return torch.softmax(scores, dim=-1) @ v
