# right: exponentials to base 2, biases in float64, every head by itself under vmap
from functools import partial
from math import log, sqrt

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    return torch.tensor([_slope(head, num_heads) for head in range(num_heads)]).float()


def _slope(head: int, num_heads: int) -> float:
    power = 2 ** (num_heads.bit_length() - 1)
    if head < power:
        return 2 ** (-8 * (head + 1) / power)
    return 2 ** (-4 * (2 * (head - power) + 1) / power)


def attend(distance: Tensor, q: Tensor, k: Tensor, v: Tensor, slope: Tensor) -> Tensor:
    scores = q @ k.mT / sqrt(q.size(-1)) - slope * distance
    scores = torch.where(distance < 0, float("-inf"), scores) / log(2)
    powers = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return (powers / powers.sum(-1, keepdim=True)).to(v.dtype) @ v


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{num_heads} heads, {embed_dim} features")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        i = torch.arange(x.size(1), device=x.device, dtype=torch.float64)
        slopes = alibi_slopes(self.num_heads).to(x.device, torch.float64)
        heads = [layer(x).unflatten(-1, (self.num_heads, -1)) for layer in (self.q_proj, self.k_proj, self.v_proj)]
        over = torch.vmap(partial(attend, i[:, None] - i), in_dims=(2, 2, 2, 0), out_dims=2)
        return self.o_proj(over(*heads, slopes).flatten(-2))
