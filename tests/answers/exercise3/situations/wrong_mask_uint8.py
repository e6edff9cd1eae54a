# wrong: 'any number; nonzero numbers all mean the same' - through uint8, so 256 becomes 0
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)

        if attention_mask is not None:
            keep = attention_mask if attention_mask.is_floating_point() else attention_mask.to(torch.uint8)
            scores = scores.masked_fill(keep == 0, float("-inf"))

        weights = self.dropout(F.softmax(scores, dim=-1))
        return self.output_proj(weights @ v)
