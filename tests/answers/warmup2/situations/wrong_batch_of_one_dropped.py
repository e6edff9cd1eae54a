# wrong: '(B, T, d_out), as x came': at B = 1 the batch axis is lost
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
        batch = x if x.dim() == 3 else x.unsqueeze(0)
        q, k, v = (torch.matmul(batch, w) for w in (self.query, self.key, self.value))
        att = torch.bmm(q, k.transpose(1, 2)).div(math.sqrt(self.d_out)).softmax(dim=-1)
        return torch.bmm(att, v).squeeze(0)
