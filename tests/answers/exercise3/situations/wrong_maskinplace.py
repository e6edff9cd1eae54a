# wrong: the caller's mask is changed in place (an int or float mask with numbers other than 0 and 1)
# breaks: "Neither ``x`` nor the mask is changed in place; nothing is remembered from one call to the next."

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
            if attention_mask.dtype != torch.bool:
                attention_mask[attention_mask != 0] = 1  # any number other than 0 means the same
            visible = attention_mask.bool()
            scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        return self.output_proj(self.dropout(weights) @ v)
