# right: the cache is a NamedTuple; grouped matmul; softmax by where with zeros in empty rows; Llama-style rotation
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Cache(NamedTuple):
    keys: Tensor
    values: Tensor
    positions: Tensor

    def behind(self, *new: Tensor) -> "Cache":
        return Cache(
            torch.cat((self.keys, new[0]), dim=2),
            torch.cat((self.values, new[1]), dim=2),
            torch.cat((self.positions, new[2].to(self.positions.dtype)), dim=1),
        )


class CachedGroupedQueryAttention(nn.Module):
    def __init__(
        self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if embed_dim // num_heads % 2:
            raise ValueError(f"D is odd: {embed_dim} / {num_heads}")
        if num_heads % num_groups:
            raise ValueError(f"num_groups {num_groups} does not divide num_heads {num_heads}")
        self.H, self.G, self.D, self.base = num_heads, num_groups, embed_dim // num_heads, base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def turn(self, t: Tensor, positions: Tensor) -> Tensor:
        wide = torch.promote_types(t.dtype, torch.float32)
        speeds = self.base ** (torch.arange(0, self.D, 2, device=t.device).to(wide) / -self.D)
        angle = positions.to(wide)[:, None, :, None] * speeds
        cos, sin = angle.cos(), angle.sin()
        a, b = t.to(wide).chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(t.dtype)

    def forward(
        self, x: Tensor, positions: Tensor, cache: tuple[Tensor, Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Cache]:
        B, T, C = x.shape
        q = self.turn(self.q_proj(x).view(B, T, self.H, self.D).transpose(1, 2), positions)
        k = self.turn(self.k_proj(x).view(B, T, self.G, self.D).transpose(1, 2), positions)
        v = self.v_proj(x).view(B, T, self.G, self.D).transpose(1, 2)
        now = Cache(k, v, positions) if cache is None else Cache(*cache).behind(k, v, positions)

        q = q.reshape(B, self.G, -1, self.D)  # the heads of a group one behind the other
        seen = (now.positions >= 0)[:, None] & (now.positions[:, None] <= positions[:, :, None])
        seen = seen.repeat(1, self.H // self.G, 1)[:, None]  # (B, 1, R·T, S)
        scores = (q @ now.keys.mT) / self.D**0.5
        low = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~seen, low).softmax(dim=-1).masked_fill(~seen, 0)
        mixed = (weights @ now.values).view(B, self.H, T, self.D)
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C)), now
