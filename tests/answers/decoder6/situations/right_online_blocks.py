# right: keys in blocks with an online softmax that copes with empty rows; einsum with letters for group and member
import math

import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    BLOCK = 32

    def __init__(
        self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0
    ) -> None:
        super().__init__()
        if embed_dim % num_heads or (embed_dim // num_heads) % 2:
            raise ValueError(f"num_heads={num_heads} does not cut embed_dim={embed_dim} into even heads")
        if num_heads % num_groups:
            raise ValueError(f"num_groups={num_groups} does not divide num_heads={num_heads}")
        D = self.D = embed_dim // num_heads
        self.G, self.R = num_groups, num_heads // num_groups
        self.log_base = math.log(base)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def rotated(self, t: Tensor, positions: Tensor) -> Tensor:
        """(B, T, n, D)"""
        wide = torch.promote_types(t.dtype, torch.float32)
        i = torch.arange(self.D // 2, device=t.device, dtype=wide)
        angles = positions.to(wide)[..., None, None] * torch.exp(-2 * i / self.D * self.log_base)
        cos, sin = angles.cos().to(t.dtype), angles.sin().to(t.dtype)
        a, b = t[..., : self.D // 2], t[..., self.D // 2 :]
        return torch.cat((torch.addcmul(a * cos, b, sin, value=-1), torch.addcmul(b * cos, a, sin)), -1)

    def forward(
        self, x: Tensor, positions: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        B, T, _ = x.shape
        q = self.rotated(self.q_proj(x).view(B, T, -1, self.D), positions)
        k = self.rotated(self.k_proj(x).view(B, T, -1, self.D), positions).transpose(1, 2)
        v = self.v_proj(x).view(B, T, -1, self.D).transpose(1, 2)
        p = positions
        if cache is not None:
            old_k, old_v, old_p = cache
            k, v, p = torch.cat((old_k, k), 2), torch.cat((old_v, v), 2), torch.cat((old_p, p), 1)

        wide = torch.promote_types(x.dtype, torch.float32)
        q = q.to(wide).unflatten(2, (self.G, self.R)) / self.D**0.5  # (B, T, G, R, D)
        low = torch.finfo(wide).min
        top = torch.full((B, T, self.G, self.R, 1), low, dtype=wide, device=x.device)
        total, mix = torch.zeros_like(top), torch.zeros_like(q)
        for kb, vb, pb in zip(k.split(self.BLOCK, 2), v.split(self.BLOCK, 2), p.split(self.BLOCK, 1)):
            seen = (pb >= 0).unsqueeze(1) & (pb.unsqueeze(1) <= positions.unsqueeze(2))
            seen = seen[:, :, None, None, :]
            s = torch.einsum("btgrd,bgsd->btgrs", q, kb.to(wide)).masked_fill(~seen, low)
            new = torch.maximum(top, s.detach().amax(-1, keepdim=True))
            fix, e = torch.exp(top - new), torch.exp(s - new).masked_fill(~seen, 0.0)
            total = total * fix + e.sum(-1, keepdim=True)
            mix = mix * fix + torch.einsum("btgrs,bgsd->btgrd", e, vb.to(wide))
            top = new
        empty = (positions < 0)[:, :, None, None, None]
        mix = mix.masked_fill(empty, 0.0) / total.masked_fill(empty, 1.0)
        return self.o_proj(mix.to(x.dtype).flatten(2)), (k, v, p)
