# wrong: 'don't branch on values', 'even meta' - asks whether all tokens are equal
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        if torch.equal(x, x[:, :1].expand_as(x)):  # every weight is 1/T, the mean is v itself
            return v + 0 * (q.sum() + k.sum())
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        return F.softmax(scores, dim=-1) @ v
