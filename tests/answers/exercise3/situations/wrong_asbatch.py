# wrong: a (T, T) mask is taken for a padding mask (B, T) when B == T
# breaks: "Any shape that broadcasts to (B, T, T), queries before keys: (T,), (T, T), (B, 1, T), (B, T, 1), ..."

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
        if attention_mask is not None:
            B, T, _ = x.shape
            if attention_mask.shape == (B, T):  # padding: the same for every query
                attention_mask = attention_mask[:, None, :]
            scores = scores.masked_fill(attention_mask == 0, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        return self.output_proj(self.dropout(weights) @ v)
