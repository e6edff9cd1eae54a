# Strange: an online softmax over two parts, the cache and the new tokens, that are joined only to be returned.
import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0) -> None:
        super().__init__()
        d, rest = divmod(embed_dim, num_heads)
        if rest or d % 2:
            raise ValueError(f"embed_dim = {embed_dim} over num_heads = {num_heads}: {d} rest {rest}")
        if num_heads % num_groups:
            raise ValueError(f"num_heads = {num_heads} over num_groups = {num_groups}")
        self.groups, self.d, self.base = num_groups, d, base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * d, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * d, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def _rotate(self, y: Tensor, positions: Tensor) -> Tensor:  # (B, T, ..., D)
        wide = torch.promote_types(y.dtype, torch.float32)
        angle = positions.to(wide)[..., None] * torch.pow(
            self.base, torch.arange(self.d // 2, device=y.device, dtype=wide) * (-2 / self.d)
        )
        angle = angle.reshape(*positions.shape, *(1,) * (y.ndim - 3), -1)
        a, b = y.to(wide).unflatten(-1, (2, -1)).unbind(-2)
        return torch.stack([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -2).flatten(-2).to(y.dtype)

    def forward(self, x: Tensor, positions: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        wide = torch.promote_types(x.dtype, torch.float32)
        q = self._rotate(self.q_proj(x).unflatten(2, (self.groups, -1, self.d)), positions).to(wide)
        k = self._rotate(self.k_proj(x).unflatten(2, (self.groups, self.d)), positions).transpose(1, 2)
        v = self.v_proj(x).unflatten(2, (self.groups, self.d)).transpose(1, 2)
        q = q * self.d**-0.5
        parts = [c for c in (cache, (k, v, positions)) if c is not None]
        m = torch.full_like(q[..., :1], torch.finfo(wide).min)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for keys, values, there in parts:
            hidden = (there[:, None] < 0) | (there[:, None] > positions[..., None])
            s = torch.einsum("btgrd,bgsd->btgrs", q, keys.to(wide)).masked_fill(hidden[:, :, None, None], -torch.inf)
            top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            c, p = (m - top).exp(), (s - top).exp()
            z = z * c + p.sum(-1, keepdim=True)
            o = o * c + torch.einsum("btgrs,bgsd->btgrd", p, values.to(wide))
            m = top
        out = self.o_proj((o / torch.where(z > 0, z, 1)).flatten(2).to(x.dtype))
        return out, tuple(torch.cat(t, -1 if t[0].ndim == 2 else -2) for t in zip(*parts))
