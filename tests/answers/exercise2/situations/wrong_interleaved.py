# wrong: 'the first C are q, the next C are k, the last C are v' - taken as every third output
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
        batch, length, width = x.shape
        q, k, v = self.proj(x).reshape(batch, length, width, 3).unbind(-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width)
        return F.softmax(scores, dim=-1) @ v
