# right: old keys first, new ones then, with a running maximum and sum
import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        super().__init__()
        for whole, count in ((embed_dim, num_heads), (num_heads, num_groups)):
            if whole % count:
                raise ValueError(f"{count} does not divide {whole}")
        if embed_dim // num_heads % 2:
            raise ValueError(f"{embed_dim} / {num_heads} is odd")
        self.num_heads, self.num_groups, self.base = num_heads, num_groups, float(base)
        few = num_groups * (embed_dim // num_heads)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, few, bias=False)
        self.v_proj = nn.Linear(embed_dim, few, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def turn(self, x, positions):
        D = x.size(-1)
        wide = torch.promote_types(x.dtype, torch.float32)
        speeds = self.base ** (torch.arange(0, D, 2, dtype=wide, device=x.device) / -D)
        angles = (positions.unsqueeze(-1) * speeds).unsqueeze(1)
        rotation = torch.stack([angles.cos(), angles.sin()]).to(x.dtype)
        a, b = x[..., : D // 2], x[..., D // 2 :]
        return torch.cat(
            [a * rotation[0] - b * rotation[1], b * rotation[0] + a * rotation[1]], dim=-1
        )

    def forward(self, x, positions, cache=None):
        B, T, C = x.shape
        H, G, D = self.num_heads, self.num_groups, C // self.num_heads
        q = self.turn(self.q_proj(x).reshape(B, T, H, D).transpose(1, 2), positions)
        k = self.turn(self.k_proj(x).reshape(B, T, G, D).transpose(1, 2), positions)
        v = self.v_proj(x).reshape(B, T, G, D).transpose(1, 2)
        q = q.reshape(B, G, H // G, T, D) / D**0.5
        pieces = [(k, v, positions)] if cache is None else [cache, (k, v, positions)]
        top = total = None
        mixed = torch.zeros_like(q)
        for keys, values, places in pieces:
            seen = (places[:, None] >= 0) & (places[:, None] <= positions[..., None])
            scores = (q @ keys[:, :, None].mT).masked_fill(~seen[:, None, None], -torch.inf)
            here = scores.detach().amax(-1, keepdim=True)
            now = here if top is None else torch.maximum(top, here)
            base = now.masked_fill(now == -torch.inf, 0)
            exps = (scores - base).exp()
            kept = 0 if top is None else (top - base).exp()
            total = exps.sum(-1, keepdim=True) + (0 if total is None else total * kept)
            mixed = mixed * kept + exps @ values[:, :, None]
            top = now
        mixed = mixed / total.masked_fill(total == 0, 1)
        out = mixed.reshape(B, H, T, D).transpose(1, 2).reshape(B, T, C)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            positions = torch.cat([cache[2], positions], 1)
        return self.o_proj(out), (k, v, positions)
