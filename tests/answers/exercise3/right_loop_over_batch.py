# unusual: a loop over the batch, with helper functions for mask and softmax
from typing import Optional

import torch
from torch import nn


def as_hidden(mask, B, T):
    if mask is None:
        return [None] * B
    if mask.dtype is not torch.bool:
        mask = mask != 0
    while mask.dim() < 3:
        mask = mask.unsqueeze(0)
    return list(~mask.expand(B, T, T))


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: torch.Tensor, attention_mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        B, T, C = x.shape
        results = []
        for sequence, hidden in zip(x, as_hidden(attention_mask, B, T)):
            q, k, v = self.proj(sequence).chunk(3, dim=1)
            scores = q @ k.T / self.hidden_dim ** 0.5
            if hidden is not None:
                scores[hidden.clone()] = float("-inf")
            results.append(self.output_proj(self.dropout(torch.softmax(scores, 1)) @ v))
        return torch.stack(results)
