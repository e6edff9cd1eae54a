# New storage of S + T rows, into which old and new are written; bmm over groups.
from math import sqrt

import torch
from torch import nn


class Rotary(nn.Module):
    """No parameters, no buffers: angles are made of what comes."""

    def __init__(self, size, base):
        super().__init__()
        self.size, self.base = size, base

    def forward(self, x, positions):
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        powers = torch.linspace(0, 1, self.size // 2 + 1, dtype=wide, device=x.device)[:-1]
        angles = positions.to(wide).unsqueeze(-1) / self.base**powers
        cos, sin = (f(angles).unsqueeze(1).to(x.dtype) for f in (torch.cos, torch.sin))
        left, right = x.split(self.size // 2, dim=-1)
        return torch.cat((left * cos - right * sin, left * sin + right * cos), dim=-1)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        super().__init__()
        if embed_dim % (2 * num_heads):
            raise ValueError(f"cannot cut {embed_dim} features into {num_heads} even heads")
        if num_heads % num_groups:
            raise ValueError(f"cannot put {num_heads} heads into {num_groups} groups")
        self.heads, self.groups, self.size = num_heads, num_groups, embed_dim // num_heads
        self.rotary = Rotary(self.size, base)
        for name, width in (
            ("q_proj", num_heads * self.size),
            ("k_proj", num_groups * self.size),
            ("v_proj", num_groups * self.size),
            ("o_proj", embed_dim),
        ):
            self.add_module(name, nn.Linear(embed_dim, width, bias=False))

    def grown(self, old, new, dim):
        if old is None:
            return new
        count = old.size(dim)
        shape = list(new.shape)
        shape[dim] += count
        room = torch.empty(
            shape, dtype=torch.promote_types(old.dtype, new.dtype), device=new.device
        )
        room.narrow(dim, 0, count).copy_(old)
        room.narrow(dim, count, new.size(dim)).copy_(new)
        return room

    def forward(self, x, positions, cache=None):
        old = (None, None, None) if cache is None else cache
        B, T, _ = x.shape
        G, R, D = self.groups, self.heads // self.groups, self.size
        q, k, v = (
            layer(x).reshape(B, T, -1, D).permute(0, 2, 1, 3)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        k = self.grown(old[0], self.rotary(k, positions), 2)
        v = self.grown(old[1], v, 2)
        places = self.grown(old[2], positions, 1)
        S = places.size(1)
        q = self.rotary(q, positions).reshape(B * G, R * T, D)
        scores = torch.bmm(q, k.reshape(B * G, S, D).transpose(1, 2)) / sqrt(D)
        rows = positions.repeat(1, R).unsqueeze(-1)  # (B, R·T, 1)
        columns = places.unsqueeze(1)
        seen = torch.logical_and(columns >= 0, columns <= rows).repeat_interleave(G, dim=0)
        weights = torch.where(seen, scores, -torch.inf).log_softmax(-1).exp()
        weights = torch.where(seen, weights, 0.0)
        mixed = torch.bmm(weights, v.reshape(B * G, S, D)).reshape(B, G * R, T, D)
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, -1)), (k, v, places)
