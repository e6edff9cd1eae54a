# wrong: 'large scores all give finite, right values' - masked after the softmax and renormalised: 0/0 where a hidden score leads by far
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

        weights = F.softmax(scores, dim=-1)
        if attention_mask is not None:
            weights = weights * (attention_mask != 0)
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return self.output_proj(self.dropout(weights) @ v)
