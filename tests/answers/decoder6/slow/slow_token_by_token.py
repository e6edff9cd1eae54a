"""Turns pair by pair and token by token, appends to the cache one by one, then row by row."""

import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    def __init__(
        self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0
    ) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} does not divide embed_dim={embed_dim}")
        if (embed_dim // num_heads) % 2 != 0:
            raise ValueError(
                f"embed_dim={embed_dim} over num_heads={num_heads} gives heads of an odd size, "
                f"{embed_dim // num_heads}"
            )
        if num_heads % num_groups != 0:
            raise ValueError(f"num_groups={num_groups} does not divide num_heads={num_heads}")
        self.num_heads = num_heads
        self.num_groups = num_groups
        self.head_dim = embed_dim // num_heads
        self.base = base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def turn(self, rows: Tensor, position: Tensor) -> Tensor:
        """Turn the heads of one token: (heads, D) in float32 or float64, and a scalar."""
        half = self.head_dim // 2
        first, second = [], []
        for i in range(half):
            exponent = torch.tensor(-2 * i / self.head_dim, dtype=rows.dtype, device=rows.device)
            angle = position.to(rows.dtype) * self.base**exponent
            cos, sin = torch.cos(angle), torch.sin(angle)
            a, b = rows[:, i], rows[:, i + half]
            first.append(a * cos - b * sin)
            second.append(b * cos + a * sin)
        return torch.stack(first + second, dim=1)

    def forward(
        self, x: Tensor, positions: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        B, T, _ = x.shape
        H, G, D = self.num_heads, self.num_groups, self.head_dim
        wide = torch.promote_types(x.dtype, torch.float32)
        all_q = self.q_proj(x).to(wide)
        all_k = self.k_proj(x).to(wide)
        all_v = self.v_proj(x)

        # first every new token goes into the cache
        queries, new_keys = [], []
        for b in range(B):
            q_rows, k_rows = [], []
            for t in range(T):
                q_rows.append(self.turn(all_q[b, t].reshape(H, D), positions[b, t]))
                k_rows.append(self.turn(all_k[b, t].reshape(G, D), positions[b, t]))
            queries.append(q_rows)
            new_keys.append(torch.stack(k_rows, dim=1))
        keys = torch.stack(new_keys).to(x.dtype)
        values = torch.stack([all_v[:, :, g * D : (g + 1) * D] for g in range(G)], dim=1)
        where = positions.clone()
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=2)
            values = torch.cat([cache[1], values], dim=2)
            where = torch.cat([cache[2], where], dim=1)

        # then each new token looks around
        wide_keys, wide_values = keys.to(wide), values.to(wide)
        batch = []
        for b in range(B):
            rows = []
            for t in range(T):
                seen = (where[b] >= 0) & (where[b] <= positions[b, t])
                heads = []
                for h in range(H):
                    g = h // (H // G)
                    q = queries[b][t][h]
                    scores = (wide_keys[b, g] * q).sum(dim=1) / D**0.5
                    scores = scores.masked_fill(~seen, torch.finfo(wide).min)
                    weights = torch.softmax(scores, dim=0).masked_fill(~seen, 0.0)
                    heads.append((weights.reshape(-1, 1) * wide_values[b, g]).sum(dim=0))
                rows.append(torch.cat(heads))
            batch.append(torch.stack(rows))
        return self.o_proj(torch.stack(batch).to(x.dtype)), (keys, values, where)
