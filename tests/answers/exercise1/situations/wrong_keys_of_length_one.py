# wrong: 'B = 1, any T ... finite': keys are centred and brought to length 1, 0/0 when all tokens are equal or T = 1
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
        q, k, v = self.q(x), self.k(x), self.v(x)
        k = k - k.mean(dim=1, keepdim=True)  # the softmax does not see a shift of all keys
        size = k.square().sum(dim=(1, 2), keepdim=True).sqrt()
        scores = q @ (k / size).transpose(-2, -1)  # no overflow in here
        return torch.softmax(scores * (size / math.sqrt(self.hidden_dim)), dim=-1) @ v
