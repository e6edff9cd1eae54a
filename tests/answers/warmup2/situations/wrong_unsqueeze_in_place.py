# wrong: 'x is not changed in place': a single sequence x gets a batch axis, under no_grad
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))

    def forward(self, x: Tensor) -> Tensor:
        single = x.dim() == 2
        if single:
            x = x.unsqueeze_(0) if not x.requires_grad else x.unsqueeze(0)
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        out = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(self.d_out), dim=-1) @ v
        return out.squeeze(0) if single else out
