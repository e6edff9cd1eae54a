# Strange: no q, k or v: scores are x (Wq Wk') x' and the weights mix x before value is applied.
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        make = lambda: nn.Parameter(nn.init.xavier_normal_(torch.empty(d_in, d_out)))
        self.query, self.key, self.value = make(), make(), make()
        self.scale = d_out**-0.5

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        wq, wk, wv = (p.to(wide.dtype) for p in (self.query, self.key, self.value))
        form = wq @ wk.T * self.scale
        return ((wide @ form @ wide.mT).softmax(-1) @ wide @ wv).to(x.dtype)
