# wrong: 'nothing is remembered': under no_grad in eval mode the keys of earlier calls stay
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))
        self.past = None

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        if not self.training and not torch.is_grad_enabled():
            # generation: attend to what came before
            if self.past is not None and self.past[0].shape[:-2] == k.shape[:-2]:
                k = torch.cat([self.past[0], k], dim=-2)
                v = torch.cat([self.past[1], v], dim=-2)
            self.past = (k, v)
        return torch.softmax(q @ k.mT / math.sqrt(self.d_out), dim=-1) @ v
