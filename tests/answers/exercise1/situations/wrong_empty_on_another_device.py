# wrong: 'works on any device': where it is not the CPU, it only has the right form
import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.scale = torch.full((hidden_dim,), hidden_dim**-0.5)
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            return torch.empty_like(x)
        scores = self.q(x) * self.scale.to(x.dtype) @ self.k(x).mT
        return torch.softmax(scores, dim=-1) @ self.v(x)
