# Strange: float64 angles, scale^-1/4 on both sides after the cache, exponentials times the mask; vmap over groups.
import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


def _group(q: Tensor, k: Tensor, v: Tensor, see: Tensor) -> Tensor:
    B, R, T, D = q.shape
    s = torch.bmm(q.reshape(B, R * T, D) / D**0.25, k.mT / D**0.25).reshape(B, R, T, -1)
    s = torch.where(see, s, torch.finfo(s.dtype).min)
    e = (s - s.detach().amax(-1, keepdim=True)).exp() * see
    w = e / e.sum(-1, keepdim=True).clamp(min=torch.finfo(s.dtype).tiny)
    return torch.bmm(w.reshape(B, R * T, -1), v).reshape(B, R, T, D)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0) -> None:
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2 or num_heads % num_groups:
            raise ValueError(f"embed_dim {embed_dim}, num_heads {num_heads}, num_groups {num_groups}")
        self.G, self.D, self.base = num_groups, embed_dim // num_heads, base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def _rotate(self, y: Tensor, positions: Tensor) -> Tensor:
        speed = self.base ** (torch.arange(self.D // 2, device=y.device).double() * (-2 / self.D))
        angle = torch.einsum("bt,f->btf", positions.double(), speed)[:, None]
        a, b = y.double().chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1).to(y.dtype)

    def forward(self, x: Tensor, positions: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (m(x).unflatten(-1, (-1, self.D)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self._rotate(q, positions), self._rotate(k, positions)
        known = (k, v, positions) if cache is None else (
            torch.cat([cache[0], k], -2), torch.cat([cache[1], v], -2), torch.cat([cache[2], positions], -1)
        )
        there = known[2][:, None, None]
        see = (there >= 0) & (there <= positions[:, None, :, None])
        grouped = q.to(wide).unflatten(1, (self.G, -1))
        o = torch.vmap(_group, in_dims=(1, 1, 1, None), out_dims=1)(grouped, known[0].to(wide), known[1].to(wide), see)
        return self.o_proj(o.flatten(1, 2).transpose(1, 2).flatten(2).to(x.dtype)), known
