# A helper for the cache, torch.func.vmap over sequences, a softmax over what is real alone.
import torch
from torch import nn


def append(cache, k, v, positions):
    if cache is None:
        return k, v, positions
    return tuple(
        torch.cat([old, new], dim=dim)
        for old, new, dim in zip(cache, (k, v, positions), (2, 2, 1), strict=True)
    )


class Attend(nn.Module):
    """q (H, T, D), k and v (G, S, D), positions (T,) and (S,): one sequence."""

    def forward(self, q, k, v, positions, places):
        H, T, D = q.shape
        q = q.reshape(k.size(0), -1, T, D)
        scores = (q @ k.unsqueeze(1).mT) / D**0.5
        seen = (places >= 0) & (places <= positions.unsqueeze(-1))
        scores = torch.where(seen, scores, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1) * seen
        return (weights @ v.unsqueeze(1)).reshape(H, T, D).transpose(0, 1).reshape(T, H * D)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim ({embed_dim}) % num_heads ({num_heads}) != 0")
        if (embed_dim // num_heads) % 2:
            raise ValueError(f"embed_dim ({embed_dim}) / num_heads ({num_heads}) is odd")
        if num_heads % num_groups:
            raise ValueError(f"num_heads ({num_heads}) % num_groups ({num_groups}) != 0")
        super().__init__()
        self.head_dim, self.base = embed_dim // num_heads, base
        kv_dim = num_groups * self.head_dim
        self.q_proj, self.o_proj = (nn.Linear(embed_dim, embed_dim, bias=False) for _ in "qo")
        self.k_proj, self.v_proj = (nn.Linear(embed_dim, kv_dim, bias=False) for _ in "kv")
        self.attend = Attend()

    def rope(self, x, positions):
        wide = torch.promote_types(x.dtype, torch.float32)
        i = torch.arange(self.head_dim, device=x.device) % (self.head_dim // 2)
        angle = positions[:, None, :, None] * self.base ** (-2.0 * i.to(wide) / self.head_dim)
        a, b = x.chunk(2, dim=-1)
        return x * angle.cos().to(x.dtype) + torch.cat([-b, a], -1) * angle.sin().to(x.dtype)

    def forward(self, x, positions, cache=None):
        heads = (x.size(0), x.size(1), -1, self.head_dim)
        q = self.rope(self.q_proj(x).reshape(heads).transpose(1, 2), positions)
        k = self.rope(self.k_proj(x).reshape(heads).transpose(1, 2), positions)
        v = self.v_proj(x).reshape(heads).transpose(1, 2)
        cache = append(cache, k, v, positions)
        mixed = torch.func.vmap(self.attend)(q, cache[0], cache[1], positions, cache[2])
        return self.o_proj(mixed), cache
