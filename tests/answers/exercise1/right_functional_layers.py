# unusual: forward never calls a layer; one F.linear on the three weights stacked
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        layers = (self.q, self.k, self.v)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        q, k, v = F.linear(x, weight, bias).tensor_split(3, dim=-1)
        return F.softmax(q @ k.mT / math.sqrt(x.size(-1)), dim=-1) @ v
