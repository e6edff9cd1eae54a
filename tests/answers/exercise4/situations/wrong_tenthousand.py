# wrong: hidden scores become -10000, which is more than a visible score may be (large scores)
# breaks: "dropout(softmax(mask(q·kᵀ/√C)))·v, the softmax over the keys: for each query the weights add up to 1 before dropout, and hidden keys weigh exactly 0."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        if attention_mask is not None:
            # -1e9 would not fit into float16
            scores = scores.masked_fill(attention_mask == 0, -1e4)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return weights @ v
