# wrong: 'give finite, right values': x._version, read to be sure that x stays as it is, raises under inference_mode
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        before = x._version
        q, k, v = self.proj(x).chunk(3, -1)
        out = (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
        if x._version != before:
            raise RuntimeError("x has been changed in place")
        return out
