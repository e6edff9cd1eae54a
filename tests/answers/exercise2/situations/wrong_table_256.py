# wrong: 'any T from 1 to 257' - a buffer of 256 positions ends one too early
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.register_buffer("bias", torch.zeros(256, 256), persistent=False)  # no mask here

    def forward(self, x: Tensor) -> Tensor:
        length = x.size(1)
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        scores = scores + self.bias[:length, :length]
        return F.softmax(scores, dim=-1) @ v
