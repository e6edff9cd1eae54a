# right: query and key matrices multiplied beforehand: x·(Q·Kᵀ)·xᵀ; values mixed before they are projected
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        for name in ("query", "key", "value"):
            self.register_parameter(name, nn.Parameter(0.1 * torch.randn(d_in, d_out)))

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        h, Q, K, V = (t.to(wide) for t in (x, self.query, self.key, self.value))
        form = Q @ K.T / math.sqrt(Q.size(1))
        shares = (h @ form @ h.mT).softmax(dim=-1)
        return (shares @ h @ V).to(x.dtype)
