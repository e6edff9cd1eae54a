# wrong: '(B, T, C)': at T = 1 the token axis is squeezed away
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
        rows = []
        for i in range(x.shape[1]):
            s = (q[:, i : i + 1] * k).sum(-1) / math.sqrt(self.hidden_dim)
            rows.append((s.softmax(-1).unsqueeze(-1) * v).sum(1, keepdim=True))
        return torch.stack(rows, dim=1).squeeze()  # (B, T, 1, C) -> (B, T, C)
