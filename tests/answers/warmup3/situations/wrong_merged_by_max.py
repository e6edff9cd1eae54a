# wrong: 'for each query the weights add up to 1': above T = 100 blocks are merged by their maxima, without their sums
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def _block(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        s = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
        return torch.softmax(s, dim=-1) @ v, s.amax(dim=-1, keepdim=True)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        done = [self._block(q, kb, vb) for kb, vb in zip(k.split(100, -2), v.split(100, -2))]
        outs = torch.stack([o for o, _ in done])
        share = torch.softmax(torch.stack([m for _, m in done]), dim=0)
        return (outs * share).sum(0)
