# wrong: 'compute in no narrower dtype' - above T = 200 the weights are kept in bfloat16
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
        weights = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim), dim=-1)
        if x.size(1) > 200:  # save memory on long sequences
            weights = weights.bfloat16().to(x.dtype)
        return weights @ v
