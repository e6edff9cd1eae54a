# right: scores as (keys, queries), features before positions
import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=1e4):
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2:
            raise ValueError(f"{num_heads} heads of an even size do not make {embed_dim} features")
        if num_heads % num_groups:
            raise ValueError(f"{num_groups} groups of one size do not make {num_heads} heads")
        D = self.D = embed_dim // num_heads
        self.R, self.base = num_heads // num_groups, base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, D * num_groups, bias=False)
        self.v_proj = nn.Linear(embed_dim, D * num_groups, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def columns(self, layer, x):
        return (layer.weight @ x.transpose(1, 2)).unflatten(1, (-1, self.D))  # (B, heads, D, T)

    def forward(self, x, positions, cache=None):
        wide = x.dtype if x.dtype == torch.float64 else torch.float32
        powers = torch.arange(self.D // 2, device=x.device, dtype=wide).mul(-2 / self.D)
        angles = (self.base**powers)[:, None] * positions[:, None, None, :].to(wide)
        sin, cos = torch.sin(angles).to(x.dtype), torch.cos(angles).to(x.dtype)

        def turn(y):
            a, b = y.tensor_split(2, dim=2)
            return torch.cat([cos * a - sin * b, sin * a + cos * b], dim=2)

        q, k = turn(self.columns(self.q_proj, x)), turn(self.columns(self.k_proj, x))
        k, v = k.mT.contiguous(), self.columns(self.v_proj, x).mT.contiguous()
        places = positions
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            places = torch.cat([cache[2], positions], dim=-1)
        q = q.unflatten(1, (-1, self.R)) / self.D**0.5  # (B, G, R, D, T)
        scores = k[:, :, None] @ q  # (B, G, R, S, T)
        rows, columns = places[:, :, None], positions[:, None, :]
        dark = ((rows < 0) | (rows > columns))[:, None, None]
        shares = scores.masked_fill(dark, -torch.inf).softmax(dim=3).masked_fill(dark, 0)
        mixed = v.mT[:, :, None] @ shares  # (B, G, R, D, T)
        return self.o_proj(mixed.flatten(1, 3).transpose(1, 2)), (k, v, places)
