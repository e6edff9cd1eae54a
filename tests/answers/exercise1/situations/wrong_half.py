# wrong: bfloat16 is computed in float16, whose range ends at 65504 (bfloat16 with large scores)
# breaks: "Module and ``x`` are float32, float64 or bfloat16 (float16 is left open), on any device, even ``meta``: compute in no narrower dtype, return the same one, don't branch on values."

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
        if x.dtype == torch.bfloat16:
            # float16 has three more bits of precision
            q, k, v = q.half(), k.half(), v.half()
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        return (torch.softmax(scores, dim=-1) @ v).to(x.dtype)
