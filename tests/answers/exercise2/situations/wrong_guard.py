# wrong: a check on the values of the scores crashes where there are no values (the meta device)
# breaks: "Module and ``x`` are float32, float64 or bfloat16 (float16 is left open), on any device, even ``meta``: compute in no narrower dtype, return the same one, don't branch on values."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        if torch.isnan(scores).any():
            raise ValueError("the scores are not numbers")
        return torch.softmax(scores, dim=-1) @ v
