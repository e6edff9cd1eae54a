# Strange: the members' queries as tall rows; a null key takes the weight of blind rows; rotation by roll and signs.
import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if embed_dim // num_heads % 2:
            raise ValueError(f"embed_dim {embed_dim} / num_heads {num_heads} is odd")
        if num_heads % num_groups:
            raise ValueError(f"num_groups {num_groups} does not divide num_heads {num_heads}")
        self.H, self.G, self.D = num_heads, num_groups, embed_dim // num_heads
        self.base = base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        (B, T, C), G, D, R = x.shape, self.G, self.D, self.H // self.G
        wide = torch.promote_types(x.dtype, torch.float32)
        power = torch.arange(D // 2, device=x.device).to(wide) * 2 / D
        angle = (positions[..., None].to(wide) / self.base**power).unsqueeze(1)
        cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([-angle.sin(), angle.sin()], -1)
        turn = lambda y: (y.to(wide) * cos + y.to(wide).roll(D // 2, -1) * sin).to(x.dtype)
        q = turn(self.q_proj(x).unflatten(2, (self.H, D)).transpose(1, 2)).reshape(B, G, R * T, D)
        k = turn(self.k_proj(x).unflatten(2, (G, D)).transpose(1, 2))
        v = self.v_proj(x).unflatten(2, (G, D)).transpose(1, 2)
        p = positions
        if cache is not None:
            k, v, p = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2), torch.cat([cache[2], p], 1)
        see = torch.logical_and(p.unsqueeze(1).ge(0), p.unsqueeze(1).le(positions.unsqueeze(2)))
        see = torch.cat([see, ~see.any(-1, keepdim=True)], -1).repeat(1, R, 1).unsqueeze(1)
        nothing = k.new_zeros(B, G, 1, D)
        s = (q / D**0.5) @ torch.cat([k, nothing], 2).mT
        o = s.masked_fill(~see, -torch.inf).softmax(-1) @ torch.cat([v, nothing], 2)
        o = o.view(B, self.H, T, D).transpose(1, 2).flatten(2)
        return self.o_proj(o), (k, v, p)
