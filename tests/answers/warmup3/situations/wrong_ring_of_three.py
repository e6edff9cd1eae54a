# wrong: for T = 192: three blocks of 64 go around in a ring, which meets the block opposite once, though an odd ring has two: a third of the keys is left out
# breaks: "any T from 1 to 257 ... give finite, right values" and "attend to every position"
from math import sqrt

import torch
from torch import Tensor, nn

BLOCK = 64


def ring(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each block of queries meets those of the keys as they pass by, from both sides at once."""
    q, k, v = (one.unflatten(-2, (-1, BLOCK)) for one in (q, k, v))  # (..., n, 64, d_out)
    half = q.size(-3) // 2
    shifts = [0, *(s for step in range(1, half) for s in (step, -step)), half]
    scores = torch.cat([q @ k.roll(s, -3).mT for s in shifts], dim=-1)
    parts = scores.softmax(-1).split(BLOCK, dim=-1)
    mixed = sum(part @ v.roll(s, -3) for part, s in zip(parts, shifts, strict=True))
    return mixed.flatten(-3, -2)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        q = q / sqrt(q.size(-1))
        T = x.size(-2)
        if T > BLOCK and T % BLOCK == 0:
            return ring(q, k, v)
        return (q @ k.mT).softmax(-1) @ v
