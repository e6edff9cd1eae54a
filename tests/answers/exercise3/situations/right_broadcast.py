# right: broadcast and sum, dropout by bernoulli_
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
        q, k, v = self.proj(x).chunk(3, -1)
        s = (q.unsqueeze(2) * k.unsqueeze(1)).sum(3) / self.hidden_dim**0.5
        if attention_mask is not None:
            s = s.masked_fill(attention_mask.logical_not(), float("-inf"))
        w = s.softmax(-1)
        if self.training:
            w = w * torch.empty_like(w).bernoulli_(1 - self.dropout_rate).div_(1 - self.dropout_rate)
        y = (w.unsqueeze(3) * v.unsqueeze(1)).sum(2)
        return (y.unsqueeze(2) * self.output_proj.weight).sum(3) + self.output_proj.bias
