# Strange: vmap when there is a batch; softmax in base 2 with log2(e) in the scale, shifted by a detached max.
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(nn.init.normal_(torch.empty(d_in, d_out), std=0.02))
        self.key = nn.Parameter(nn.init.normal_(torch.empty(d_in, d_out), std=0.02))
        self.value = nn.Parameter(nn.init.normal_(torch.empty(d_in, d_out), std=0.02))

    def _single(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        s = (x @ self.query).to(wide) @ (x @ self.key).to(wide).T
        s = s * (math.log2(math.e) / math.sqrt(self.key.shape[1]))
        e = torch.exp2(s - s.detach().amax(1, keepdim=True))
        return (e @ (x @ self.value).to(wide) / e.sum(1, keepdim=True)).to(x.dtype)

    def forward(self, x: Tensor) -> Tensor:
        return self._single(x) if x.ndim == 2 else torch.vmap(self._single)(x)
