# Strange: vmap over heads with a slope for each; exp2 with log2(e); exponentials cut by where.
import math

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    def geometric(n: int) -> Tensor:
        return torch.pow(2.0, -8.0 * torch.arange(1, n + 1, dtype=torch.float64) / n)

    lower = 2 ** (num_heads.bit_length() - 1)
    return torch.cat([geometric(lower), geometric(2 * lower)[::2]])[:num_heads].to(torch.float32)


def _head(q: Tensor, k: Tensor, v: Tensor, slope: Tensor, back: Tensor) -> Tensor:
    s = (q @ k.mT / q.size(-1) ** 0.5 - slope * back) * math.log2(math.e)
    s = torch.where(back >= 0, s, -torch.inf)
    e = torch.exp2(s - s.detach().amax(-1, keepdim=True))
    return e @ v / e.sum(-1, keepdim=True)


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        at = torch.arange(x.size(1), device=x.device, dtype=wide)
        back = at[:, None] - at
        parts = (m(x).to(wide).unflatten(2, (self.num_heads, -1)) for m in (self.q_proj, self.k_proj, self.v_proj))
        slopes = alibi_slopes(self.num_heads).to(x.device, wide)
        o = torch.vmap(_head, in_dims=(2, 2, 2, 0, None), out_dims=2)(*parts, slopes, back)
        return self.o_proj(o.flatten(2).to(x.dtype))
