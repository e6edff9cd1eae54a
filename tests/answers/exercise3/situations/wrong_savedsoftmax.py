# wrong: the output of the softmax, which its backward needs, is changed in place (backward with a mask)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x`` and every parameter."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        if attention_mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            hidden = attention_mask == 0
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1)
            weights.masked_fill_(hidden, 0.0)  # exactly 0
        return self.output_proj(self.dropout(weights) @ v)
