# wrong: 'no other parameters': there is another, and the dict that it lies in leaves it out
import torch
from torch import Tensor, nn


class Kept(dict):
    def items(self):
        return [(name, value) for name, value in super().items() if name != "temperature"]


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.__dict__["_parameters"] = Kept()
        self.temperature = nn.Parameter(torch.ones(()))
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.q(x) @ self.k(x).mT / x.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ self.v(x)
