# wrong: 'Let each position attend to every position of its own sequence': softmax over the batch
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
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.einsum("btc,bsc->bts", q, k) / math.sqrt(self.hidden_dim)
        return torch.einsum("bts,bsc->btc", F.softmax(scores, dim=0), v)
