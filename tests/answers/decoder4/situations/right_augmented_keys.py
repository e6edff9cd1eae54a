# right: the bias is part of the product: query (q/√D, slope) · key (k, s), for -slope·t is the same for all keys of a row
import math

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    def power_of_two(n: int) -> list[float]:
        start = 2.0 ** (-8.0 / n)
        return [start ** (i + 1) for i in range(n)]

    if math.log2(num_heads).is_integer():
        slopes = power_of_two(num_heads)
    else:
        P = 2 ** math.floor(math.log2(num_heads))
        slopes = power_of_two(P) + power_of_two(2 * P)[0::2][: num_heads - P]
    return torch.tensor(slopes, dtype=torch.float32)


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim ({embed_dim}) must be divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (
            layer(x).to(wide).view(B, T, self.num_heads, -1).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        slope = alibi_slopes(self.num_heads).to(x.device, wide).view(-1, 1, 1).expand(B, -1, T, 1)
        place = torch.arange(T, device=x.device, dtype=wide).view(T, 1).expand(B, self.num_heads, T, 1)
        q = torch.cat((q * q.size(-1) ** -0.5, slope), dim=-1)
        k = torch.cat((k, place), dim=-1)
        later = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax((q @ k.mT).masked_fill(later, float("-inf")), dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2).to(x.dtype))
