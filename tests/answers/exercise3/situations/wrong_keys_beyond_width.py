# wrong: 'Chance of each weight to be dropped', any T - with T above C the keys after the C-th are never dropped
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        C = x.size(-1)
        if self.training and self.rate > 0:
            noise = F.dropout(torch.ones_like(q), self.rate)[..., : x.size(1)]
            weights = torch.cat([weights[..., :C] * noise, weights[..., C:]], dim=-1)
        return self.output_proj(weights @ v)
