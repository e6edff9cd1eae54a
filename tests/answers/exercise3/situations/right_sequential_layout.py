# right: layers added with add_module from a table, dropout as a mask on a ones tensor
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self._rate, self._root = dropout_rate, math.sqrt(hidden_dim)
        for name, factor in {"proj": 3, "output_proj": 1}.items():
            self.add_module(name, nn.Linear(hidden_dim, factor * hidden_dim))

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.get_submodule("proj")(x).unflatten(-1, (3, -1)).unbind(-2)
        s = (q / self._root) @ k.movedim(1, 2)
        if attention_mask is not None:
            see = attention_mask.to(torch.bool)
            s = s.where(see, s.new_full((), -math.inf))
        w = torch.softmax(s, 2)
        w = w * F.dropout(torch.ones_like(w), self._rate, self.training)
        return self.get_submodule("output_proj")(w @ v)
