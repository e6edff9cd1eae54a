# Strange: heads one by one, groups by integer division, rotation by 2x2 matrices in an einsum; a NamedTuple inside.
from typing import NamedTuple

import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class Past(NamedTuple):
    keys: Tensor
    values: Tensor
    positions: Tensor

    def then(self, other: "Past") -> "Past":
        return Past(
            torch.cat([self.keys, other.keys], 2),
            torch.cat([self.values, other.values], 2),
            torch.cat([self.positions, other.positions], 1),
        )


def _spin(y: Tensor, positions: Tensor, base: float) -> Tensor:
    half = y.size(-1) // 2
    wide = torch.promote_types(y.dtype, torch.float32)
    angle = positions[:, :, None].to(wide) * base ** -(torch.arange(half, device=y.device).to(wide) / half)
    c, s = angle.cos(), angle.sin()
    matrix = torch.stack([c, -s, s, c], -1).unflatten(-1, (2, 2))
    return torch.einsum("bhtif,btfoi->bhtof", y.to(wide).unflatten(-1, (2, half)), matrix).flatten(3).to(y.dtype)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0) -> None:
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2 or num_heads % num_groups:
            raise ValueError(f"{embed_dim=} {num_heads=} {num_groups=}")
        self.h, self.g, self.base = num_heads, num_groups, base
        d = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * d, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * d, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        q = _spin(torch.stack(self.q_proj(x).chunk(self.h, -1), 1), positions, self.base)
        new = Past(
            _spin(torch.stack(self.k_proj(x).chunk(self.g, -1), 1), positions, self.base),
            torch.stack(self.v_proj(x).chunk(self.g, -1), 1),
            positions,
        )
        known = new if cache is None else Past(*cache).then(new)
        p = known.positions[:, None, :]
        see = (p >= 0) * (p <= positions[:, :, None])
        some = see.any(-1, keepdim=True)
        heads = []
        for i, one in enumerate(q.unbind(1)):
            g = i * self.g // self.h
            s = one @ known.keys[:, g].mT / one.size(-1) ** 0.5
            w = s.masked_fill(~see, torch.finfo(s.dtype).min).softmax(-1)
            heads.append((w @ known.values[:, g]).masked_fill(~some, 0))
        return self.o_proj(torch.cat(heads, -1)), tuple(known)
