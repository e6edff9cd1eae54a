# wrong: the softmax runs over dim 1, which is the keys only after the squeeze of a batch of one (B > 1)
# breaks: "The softmax runs over the keys: for each query the weights add up to 1."

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
        scores = torch.matmul(q, k.transpose(1, 2)).squeeze(0)
        weights = torch.softmax(scores / math.sqrt(self.hidden_dim), dim=1)
        return torch.matmul(weights, v)
