# Strange: one einsum over a stack of the three matrices; odd letters, ellipses; scale^-1/4 on both sides.
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (
            nn.Parameter(torch.randn(d_in, d_out) * 0.05) for _ in "qkv"
        )

    def forward(self, x: Tensor) -> Tensor:
        stack = torch.stack((self.query, self.key, self.value))
        q, k, v = torch.einsum("...wu,yue->y...we", x, stack).unbind(0)
        root = q.size(-1) ** 0.25
        s = torch.einsum("...we,...me->...wm", q / root, k / root)
        return torch.einsum("...wm,...me->...we", s.softmax(-1), v)
