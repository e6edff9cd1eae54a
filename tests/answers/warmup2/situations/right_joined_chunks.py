# right: the three matrices joined at every call, one product, chunks
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x.matmul(torch.cat((self.query, self.key, self.value), 1)).chunk(3, -1)
        return q.mul(self.d_out**-0.5).matmul(k.mT).softmax(-1).matmul(v)
