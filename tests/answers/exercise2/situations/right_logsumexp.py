# right: weights as exp(score - logsumexp)
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
        q, k, v = self.proj(x).split([self.hidden_dim] * 3, -1)
        s = (q / math.sqrt(self.hidden_dim)) @ k.mT
        s = s.to(torch.promote_types(s.dtype, torch.float32))
        s = s - s.detach().amax(-1, keepdim=True)  # a large logsumexp would be rounded and spoil the sum of 1
        return (s - s.logsumexp(-1, keepdim=True)).exp().to(v.dtype) @ v
