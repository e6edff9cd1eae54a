# All axes by name; heads repeated, an additive mask, NaN taken out with torch.where.
import math

import torch
from torch import nn


def apply_rope(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + turned * sin


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} is not divisible by {num_heads}")
        self.head_dim = embed_dim // num_heads
        if self.head_dim % 2:
            raise ValueError(f"{embed_dim} features in {num_heads} heads: the head size is odd")
        if num_heads % num_groups:
            raise ValueError(f"{num_heads} is not divisible by {num_groups}")
        self.H, self.G, self.base = num_heads, num_groups, base
        self.q_proj = nn.Linear(embed_dim, num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def tables(self, x, positions):
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        inv_freq = 1.0 / self.base ** (
            torch.arange(0, self.head_dim, 2, dtype=dtype, device=x.device) / self.head_dim
        )
        freqs = torch.einsum("bt,d->btd", positions.to(dtype), inv_freq)
        emb = torch.cat([freqs, freqs], dim=-1)[:, None]
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)

    def forward(self, x, positions, cache=None):
        cos, sin = self.tables(x, positions)
        q = self.q_proj(x).unflatten(-1, (self.H, self.head_dim)).transpose(1, 2)
        k = self.k_proj(x).unflatten(-1, (self.G, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).unflatten(-1, (self.G, self.head_dim)).transpose(1, 2)
        q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)
        all_positions = positions
        if cache is not None:
            k = torch.cat((cache[0], k), -2)
            v = torch.cat((cache[1], v), -2)
            all_positions = torch.cat((cache[2], positions), -1)
        each = self.H // self.G
        keys, values = k.repeat_interleave(each, dim=1), v.repeat_interleave(each, dim=1)
        scores = torch.einsum("bhtd,bhsd->bhts", q, keys) * (1 / math.sqrt(self.head_dim))
        visible = (all_positions >= 0)[:, None] & (all_positions[:, None] <= positions[..., None])
        bias = torch.zeros(visible.shape, dtype=x.dtype, device=x.device)
        bias = bias.masked_fill(~visible, -torch.inf)[:, None]
        any_visible = visible.any(-1)[:, None, :, None]
        # A row that sees nothing sees everything here, and counts for nothing afterwards.
        weights = torch.softmax(scores + torch.where(any_visible, bias, 0.0), dim=-1)
        mixed = torch.einsum("bhts,bhsd->bthd", weights * any_visible, values)
        return self.o_proj(mixed.flatten(2)), (k, v, all_positions)
