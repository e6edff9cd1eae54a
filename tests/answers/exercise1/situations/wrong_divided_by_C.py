# wrong: 'softmax(q.k^T/sqrt(C))': divided by C, at C > 1
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
        att = torch.bmm(q, k.transpose(1, 2)) / self.hidden_dim
        return torch.bmm(att.softmax(dim=-1), v)
