# wrong: 'hidden keys weigh exactly 0' - filled with -1e4, which visible scores of -1e4 and less reach
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
            scores = scores.masked_fill(attention_mask == 0, -1e4)

        weights = self.dropout(F.softmax(scores, dim=-1))
        return self.output_proj(weights @ v)
