# Strange: rotation by complex numbers; einsum over groups; a blind row's weights are set to 0 by torch.where.
import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0) -> None:
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2:
            raise ValueError(f"embed_dim {embed_dim}, num_heads {num_heads}")
        if num_heads % num_groups:
            raise ValueError(f"num_heads {num_heads}, num_groups {num_groups}")
        self.G, self.D, self.base = num_groups, embed_dim // num_heads, base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def _turn(self, y: Tensor, positions: Tensor) -> Tensor:
        wide = torch.promote_types(y.dtype, torch.float32)
        speed = self.base ** (torch.arange(0, self.D, 2, device=y.device).to(wide) / -self.D)
        angle = positions.to(wide)[:, None, :, None] * speed
        z = torch.complex(*y.to(wide).chunk(2, -1)) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([z.real, z.imag], -1).to(y.dtype)

    def forward(self, x: Tensor, positions: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        q, k, v = (m(x).unflatten(2, (-1, self.D)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self._turn(q, positions), self._turn(k, positions)
        if cache is None:
            cache = (k, v, positions)
        else:
            cache = tuple(torch.cat([old, new], dim) for old, new, dim in zip(cache, (k, v, positions), (2, 2, 1)))
        k, v, there = cache
        see = (there[:, None] >= 0) & (there[:, None] <= positions[:, :, None])
        see = see[:, None, None]
        s = torch.einsum("bgrtd,bgsd->bgrts", q.unflatten(1, (self.G, -1)), k) * self.D**-0.5
        w = torch.where(see, s, torch.finfo(s.dtype).min).softmax(-1)
        w = torch.where(see, w, 0)
        return self.o_proj(torch.einsum("bgrts,bgsd->btgrd", w, v).flatten(2)), cache
