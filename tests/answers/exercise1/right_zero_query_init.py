# unusual: first values of 0 for q and k (uniform attention at the start) and the identity for v
import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        for layer in (self.q, self.k):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        nn.init.eye_(self.v.weight)
        nn.init.zeros_(self.v.bias)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / self.k.out_features**0.5
        return torch.softmax(scores, dim=-1) @ self.v(x)
