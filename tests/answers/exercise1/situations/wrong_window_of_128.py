# wrong: 'attend to every position': keys more than 128 places away are masked, at T > 129
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
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        place = torch.arange(x.shape[1], device=x.device)
        far = (place[:, None] - place[None, :]).abs() > 128
        return scores.masked_fill(far, -torch.inf).softmax(dim=-1) @ v
