# wrong: 'B = 1 ... right' and '(B, T, C)' - at B = 1 the batch axis is lost
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
        weights = F.softmax(torch.einsum("btc,bsc->bts", q, k) / math.sqrt(self.hidden_dim), dim=-1)
        out = weights @ v
        return out.squeeze(0)
