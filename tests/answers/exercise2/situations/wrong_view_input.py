# wrong: 'a non-contiguous x' - view() raises on a transposed x
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
        flat = self.proj(x.view(batch * length, width))
        q, k, v = flat.view(batch, length, 3, width).unbind(2)
        weights = F.softmax(q @ k.mT / math.sqrt(width), dim=-1)
        return weights @ v
