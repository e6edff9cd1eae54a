# wrong: 'Chance of each weight to be dropped' - random numbers drawn in bfloat16 know only steps of 1/256: rate 0.001 drops 0.004
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)

        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))

        weights = F.softmax(scores, dim=-1)
        if self.training:
            keep = torch.rand_like(weights) >= self.dropout_rate
            weights = weights * keep / (1 - self.dropout_rate)
        return self.output_proj(weights @ v)
