# wrong: when the module is made where torch's default dtype is bfloat16: orthogonal first values need a QR decomposition, of which there is none in bfloat16, and the constructor raises
# breaks: "Module and ``x`` are float32, float64 or bfloat16"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

        for layer in (self.q, self.k, self.v):
            nn.init.orthogonal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
