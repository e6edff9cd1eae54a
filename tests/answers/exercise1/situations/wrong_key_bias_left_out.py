# wrong: 'gradients reach ... every parameter': the bias of k is left out (it cancels in the values), its grad is None
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, v = self.q(x), self.v(x)
        # q . b_k is the same for all keys, so the softmax does not see it
        k = F.linear(x, self.k.weight)
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim), dim=-1) @ v
