# right: query and key folded into one bilinear form, values mixed before they are projected
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
        up = torch.promote_types(x.dtype, torch.float32)
        wide = x.to(up)
        form = self.query.to(up) @ self.key.to(up).T / math.sqrt(self.d_out)
        weights = torch.softmax(wide @ form @ wide.mT, dim=-1)
        return ((weights @ wide) @ self.value.to(up)).to(x.dtype)
