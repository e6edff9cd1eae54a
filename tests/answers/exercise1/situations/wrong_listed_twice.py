# wrong: always for the state_dict: each parameter is in it twice, under q, k, v and under layers, so a checkpoint with the contract's names does not load
# breaks: "The parameters are those named below and no others"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

        self.layers = nn.ModuleList([self.q, self.k, self.v])

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (layer(x) for layer in self.layers)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
