# wrong: 'return the same one' (dtype): float32 for bfloat16 in eval mode
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
        wide = torch.promote_types(x.dtype, torch.float32)
        scores = (q @ k.transpose(-2, -1)).to(wide) / math.sqrt(self.hidden_dim)
        out = scores.softmax(dim=-1) @ v.to(wide)
        return out.to(x.dtype) if self.training else out
