# Strange: a hand-written Function on grouped heads with a mask; scores (S, T); zeros where nothing is seen.
import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class Seen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, hidden):
        ctx.dtypes = q.dtype, k.dtype, v.dtype
        wide = torch.promote_types(q.dtype, torch.float32)
        q, k, v = q.to(wide) * q.size(-1) ** -0.5, k.to(wide), v.to(wide)
        s = torch.einsum("bgsd,btgrd->bgrst", k, q).masked_fill(hidden, torch.finfo(wide).min)
        w = s.softmax(-2).masked_fill(hidden, 0)
        ctx.save_for_backward(q, k, v, w)
        return torch.einsum("bgrst,bgsd->btgrd", w, v).to(ctx.dtypes[0])

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        g = g.to(w.dtype)
        gw = torch.einsum("btgrd,bgsd->bgrst", g, v)
        gs = w * (gw - (gw * w).sum(-2, keepdim=True))
        gq = torch.einsum("bgrst,bgsd->btgrd", gs, k) * q.size(-1) ** -0.5
        gk = torch.einsum("bgrst,btgrd->bgsd", gs, q)
        gv = torch.einsum("bgrst,btgrd->bgsd", w, g)
        return *(t.to(d) for t, d in zip((gq, gk, gv), ctx.dtypes)), None


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0) -> None:
        super().__init__()
        if embed_dim % num_heads or (embed_dim // num_heads) % 2:
            raise ValueError(f"embed_dim {embed_dim} and num_heads {num_heads} give no even width")
        if num_heads % num_groups:
            raise ValueError(f"num_groups {num_groups} does not divide num_heads {num_heads}")
        self.G, self.D, self.base = num_groups, embed_dim // num_heads, base
        self.register_buffer("pairs", torch.arange(self.D // 2), persistent=False)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        wide = torch.promote_types(x.dtype, torch.float32)
        angle = positions.to(wide)[..., None, None] * self.base ** (-2 * self.pairs.to(wide) / self.D)
        cos, sin = angle.cos(), angle.sin()

        def turned(layer: nn.Linear) -> Tensor:
            a, b = layer(x).unflatten(2, (-1, self.D)).to(wide).tensor_split(2, -1)
            return torch.cat([torch.addcmul(a * cos, b, -sin), torch.addcmul(b * cos, a, sin)], -1).to(x.dtype)

        q = turned(self.q_proj).unflatten(2, (self.G, -1))
        k = turned(self.k_proj).transpose(1, 2)
        v = self.v_proj(x).unflatten(2, (self.G, -1)).transpose(1, 2)
        at = positions
        if cache is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(cache, (k, v)))
            at = torch.cat([cache[2], at], 1)
        hidden = (at < 0)[:, :, None] | (at[:, :, None] > positions[:, None])
        out = Seen.apply(q, k, v, hidden[:, None, None])
        return self.o_proj(out.flatten(2)), (k, v, at)
