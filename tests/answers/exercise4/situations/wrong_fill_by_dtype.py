# wrong: after a call with a mask the module can't be moved: the number that is filled in for hidden scores is a tensor kept by its dtype alone, and stays on the device of that call
# breaks: "on any device, even ``meta``"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self._lowest: dict[torch.dtype, Tensor] = {}

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            if scores.dtype not in self._lowest:
                least = torch.finfo(scores.dtype).min
                self._lowest[scores.dtype] = scores.new_full((1,), least)
            scores = torch.where(attention_mask == 0, self._lowest[scores.dtype], scores)
        weights = self.dropout(scores.softmax(dim=-1))
        return weights @ v
