# One product for q, k and v by weights put together; keys in two pieces, never joined for scores.
import torch
from torch import nn
from torch.nn import functional as F


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        super().__init__()
        if embed_dim % num_heads or (embed_dim // num_heads) % 2:
            raise ValueError(f"{embed_dim} and {num_heads} do not go together")
        if num_heads % num_groups:
            raise ValueError(f"{num_heads} and {num_groups} do not go together")
        self.H, self.G, self.D, self.base = num_heads, num_groups, embed_dim // num_heads, base
        few = num_groups * self.D
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, few, bias=False)
        self.v_proj = nn.Linear(embed_dim, few, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, positions, cache=None):
        B, T, C = x.shape
        H, G, D = self.H, self.G, self.D
        fused = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        heads = F.linear(x, fused).view(B, T, H + 2 * G, D).transpose(1, 2)
        wide = torch.promote_types(x.dtype, torch.float32)
        speeds = torch.exp(
            torch.arange(0, D, 2, device=x.device, dtype=wide)
            * -(torch.tensor(self.base, dtype=torch.float64).log().item() / D)
        )
        angles = (positions.to(wide)[..., None] * speeds)[:, None]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = heads[:, : H + G, :, : D // 2], heads[:, : H + G, :, D // 2 :]
        turned = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
        q, k, v = turned[:, :H], turned[:, H:], heads[:, H + G :]
        q = q.reshape(B, G, H // G, T, D) * D**-0.5
        pieces = [(k, v, positions)]
        if cache is not None:
            pieces.insert(0, tuple(cache))
        scores = []
        for keys, _, places in pieces:
            seen = (places[:, None, :] >= 0) & (places[:, None, :] <= positions[:, :, None])
            one = torch.einsum("bgrtd,bgsd->bgrts", q, keys)
            scores.append(one.masked_fill(~seen[:, None, None], float("-inf")))
        weights = torch.cat(scores, dim=-1).softmax(dim=-1)
        nothing = (positions < 0)[:, None, None, :, None]
        weights = weights.masked_fill(nothing, 0.0)
        mixed, start = 0, 0
        for _, values, places in pieces:
            part = weights[..., start : start + places.size(1)]
            mixed = mixed + torch.einsum("bgrts,bgsd->btgrd", part, values)
            start += places.size(1)
        whole = tuple(torch.cat(each, dim=-2) for each in list(zip(*pieces))[:2])
        known = torch.cat([places for _, _, places in pieces], dim=1)
        return self.o_proj(mixed.reshape(B, T, C)), (*whole, known)
