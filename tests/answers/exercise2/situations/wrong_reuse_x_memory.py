# wrong: 'x is not changed in place' - under no_grad the result is written into x
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        weights = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim), dim=-1)
        if torch.is_grad_enabled():
            return weights @ v
        return x.copy_(weights @ v)  # inference: no new memory
