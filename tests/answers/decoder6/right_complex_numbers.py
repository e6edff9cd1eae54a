# A pair of features is a complex number; scores of all heads in one broadcast product.
import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        super().__init__()
        head, rest = divmod(embed_dim, num_heads)
        if rest or head & 1:
            raise ValueError(f"embed_dim={embed_dim}, num_heads={num_heads}")
        if num_heads % num_groups:
            raise ValueError(f"num_heads={num_heads}, num_groups={num_groups}")
        self.shape_q = (num_groups, num_heads // num_groups, head)
        self.shape_k = (num_groups, 1, head)
        self.base = base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * head, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * head, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def turn(self, x, positions):
        """(B, T, G, R, D)."""
        D = x.size(-1)
        wide = torch.promote_types(x.dtype, torch.float32)
        steps = torch.arange(D // 2, device=x.device, dtype=wide)
        angle = positions.to(wide)[:, :, None] * torch.pow(self.base, -2 * steps / D)
        spin = torch.polar(torch.ones_like(angle), angle)[:, :, None, None]
        y = torch.complex(x[..., : D // 2].to(wide), x[..., D // 2 :].to(wide)) * spin
        return torch.cat([y.real, y.imag], dim=-1).to(x.dtype)

    def forward(self, x, positions, cache=None):
        B, T, C = x.shape
        q = self.turn(self.q_proj(x).reshape(B, T, *self.shape_q), positions)
        k = self.turn(self.k_proj(x).reshape(B, T, *self.shape_k), positions)
        v = self.v_proj(x).reshape(B, T, *self.shape_k)
        q, k, v = q.permute(0, 2, 3, 1, 4), k.permute(0, 2, 3, 1, 4), v.permute(0, 2, 3, 1, 4)
        where = positions
        if cache is not None:
            keys, values, old = cache
            k = torch.cat([keys.unsqueeze(2), k], dim=3)
            v = torch.cat([values.unsqueeze(2), v], dim=3)
            where = torch.cat([old, positions], dim=1)
        seen = where[:, None, :].ge(0) & where[:, None, :].le(positions[:, :, None])
        seen = seen[:, None, None]  # (B, 1, 1, T, S)
        scores = q @ k.transpose(-1, -2) * q.size(-1) ** -0.5
        largest = scores.detach().masked_fill(~seen, float("-inf")).amax(-1, keepdim=True)
        largest = largest.masked_fill(largest == float("-inf"), 0.0)
        exps = (scores - largest).masked_fill(~seen, float("-inf")).exp()
        total = exps.sum(-1, keepdim=True)
        weights = exps / total.masked_fill(total == 0, 1.0)
        mixed = (weights @ v).permute(0, 3, 1, 2, 4).reshape(B, T, C)
        return self.o_proj(mixed), (k.squeeze(2), v.squeeze(2), where)
