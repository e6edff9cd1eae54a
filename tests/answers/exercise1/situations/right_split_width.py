# right: the dot products summed over pieces of the width, also an uneven last piece
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
        q, k, v = (getattr(self, n)(x) for n in "qkv")
        s = sum(a @ b.mT for a, b in zip(q.split(3, -1), k.split(3, -1)))
        w = F.softmax(s.mul(self.hidden_dim**-0.5), -1)
        return torch.cat([w @ piece for piece in v.split(5, -1)], -1)
