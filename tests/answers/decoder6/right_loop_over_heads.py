# Loops over sequences, groups and heads, one small matrix after another.
import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0):
        super().__init__()
        if embed_dim % num_heads != 0 or (embed_dim // num_heads) % 2 != 0:
            raise ValueError(f"no even heads: embed_dim {embed_dim}, num_heads {num_heads}")
        if num_heads % num_groups != 0:
            raise ValueError(f"no equal groups: num_heads {num_heads}, num_groups {num_groups}")
        self.n_heads = num_heads
        self.n_groups = num_groups
        self.size = embed_dim // num_heads
        self.base = base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.size, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.size, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def turned(self, x, positions):
        """(B, T, D) at positions (B, T)."""
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        half = self.size // 2
        first, second = [], []
        for i in range(half):
            angle = positions.to(wide) * self.base ** (-2 * i / self.size)
            cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
            first.append(x[:, :, i] * cos - x[:, :, i + half] * sin)
            second.append(x[:, :, i + half] * cos + x[:, :, i] * sin)
        return torch.stack(first + second, dim=-1)

    def forward(self, x, positions, cache=None):
        old_keys, old_values, old_positions = cache if cache is not None else (None, None, None)
        known = positions if cache is None else torch.cat([old_positions, positions], dim=1)
        queries, keys, values = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        all_keys, all_values = [], []
        for g in range(self.n_groups):
            part = slice(g * self.size, (g + 1) * self.size)
            k, v = self.turned(keys[:, :, part], positions), values[:, :, part]
            if cache is not None:
                k = torch.cat([old_keys[:, g], k], dim=1)
                v = torch.cat([old_values[:, g], v], dim=1)
            all_keys.append(k)
            all_values.append(v)
        hidden = (known.unsqueeze(1) < 0) | (known.unsqueeze(1) > positions.unsqueeze(2))
        blank = hidden.all(dim=2, keepdim=True)
        outs = []
        for h in range(self.n_heads):
            g = h // (self.n_heads // self.n_groups)
            q = self.turned(queries[:, :, h * self.size : (h + 1) * self.size], positions)
            scores = torch.bmm(q, all_keys[g].transpose(1, 2)) / self.size**0.5
            scores = scores.masked_fill(hidden & ~blank, float("-inf"))
            mixed = torch.bmm(torch.softmax(scores, dim=2), all_values[g])
            outs.append(mixed.masked_fill(blank, 0))
        out = self.o_proj(torch.cat(outs, dim=2))
        return out, (torch.stack(all_keys, dim=1), torch.stack(all_values, dim=1), known)
