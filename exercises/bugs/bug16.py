"""All of it happened just now.

A colleague reports: "What is read in one piece is right. In two pieces it is not, although each of
them is right as long as I look at it alone. It seems to know what was said, and not how long ago:
what stands a page back is treated like the last sentence."

The contract is that of decoder6: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class CachedGroupedQueryAttention(nn.Module):
    """Causal self-attention that goes on from the keys and values of earlier calls."""

    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 1e4) -> None:
        super().__init__()
        if embed_dim % (2 * num_heads):
            raise ValueError(f"{embed_dim} features do not make {num_heads} heads of an even size")
        if num_heads % num_groups:
            raise ValueError(f"{num_heads} heads do not make {num_groups} groups of one size")
        self.num_heads, self.num_groups, self.base = num_heads, num_groups, base
        few = embed_dim // num_heads * num_groups
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, few, bias=False)
        self.v_proj = nn.Linear(embed_dim, few, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def angles(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines for each token and pair of features, (B, T, 1, D/2)."""
        D = x.size(-1) // self.num_heads
        wide = torch.promote_types(x.dtype, torch.float32)
        speeds = self.base ** -(torch.arange(0, D, 2, dtype=wide, device=x.device) / D)
        # Differences are all that counts: small angles keep more of their digits.
        steps = positions - positions[:, :1]
        angles = (steps[:, :, None] * speeds)[:, :, None]
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    def forward(
        self, x: Tensor, positions: Tensor, cache: tuple[Tensor, Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Let each new token attend to what came before it, in each head."""
        B, T, C = x.shape
        G, D = self.num_groups, C // self.num_heads
        cos, sin = self.angles(x, positions)

        def turn(y: Tensor) -> Tensor:
            a, b = y.chunk(2, dim=-1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

        q = turn(self.q_proj(x).unflatten(-1, (-1, D))).reshape(B, T, G, -1, D)
        k = turn(self.k_proj(x).unflatten(-1, (G, D))).transpose(1, 2)
        v = self.v_proj(x).unflatten(-1, (G, D)).transpose(1, 2)
        known = (k, v, positions)
        if cache is not None:
            known = tuple(
                torch.cat(pair, dim=dim)
                for pair, dim in zip(zip(cache, known, strict=True), (2, 2, 1), strict=True)
            )
        k, v, places = known
        sees = (places[:, None] >= 0) & (places[:, None] <= positions[:, :, None])
        sees = sees[:, None, None]
        scores = torch.einsum("btgrd,bgsd->bgrts", q, k) / sqrt(D)
        weights = scores.masked_fill(~sees, float("-inf")).softmax(dim=-1).masked_fill(~sees, 0.0)
        mixed = torch.einsum("bgrts,bgsd->btgrd", weights, v)
        return self.o_proj(mixed.reshape(B, T, C)), known
