# wrong: batches of more than 32 sequences go in parts, each of which is given the first sequences' masks, not its own
# breaks: "Any shape that broadcasts to (B, T, T)"
from math import sqrt

import torch
from torch import Tensor, nn

PART = 32  # sequences at a time


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def _attend(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        return self.dropout(scores.softmax(dim=-1)) @ v

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        if len(x) <= PART:
            return self._attend(x, attention_mask)
        outs = []
        for part in x.split(PART):
            mask = attention_mask
            if mask is not None and mask.dim() == 3 and len(mask) == len(x):
                mask = mask[: len(part)]
            outs.append(self._attend(part, mask))
        return torch.cat(outs)
