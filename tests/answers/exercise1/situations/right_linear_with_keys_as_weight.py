# right: per sequence: F.linear with the keys as weight, then with the values transposed
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
        out = []
        for q, k, v in zip(self.q(x), self.k(x), self.v(x)):
            scores = F.linear(q, k) / self.hidden_dim**0.5
            out.append(F.linear(F.softmax(scores, dim=1), v.T))
        return torch.stack(out)
