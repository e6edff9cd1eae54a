# wrong: 'for each query the weights add up to 1' and 'no narrower dtype' - an epsilon of 1e-7 shows in float64
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
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        return (e / (e.sum(dim=-1, keepdim=True) + 1e-7)) @ v
