# Strange: a hand-written Function with the band inside; scores (S, T); caches by cat of a slice with nothing.
import torch
from torch import Tensor, nn


class Band(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, window):
        ctx.dtype, wide = q.dtype, torch.promote_types(q.dtype, torch.float32)
        q, k, v = q.to(wide) * q.size(-1) ** -0.5, k.to(wide), v.to(wide)
        n, t = k.size(2), q.size(2)
        back = torch.arange(n - t, n, device=q.device) - torch.arange(n, device=q.device)[:, None]
        w = (k @ q.mT).masked_fill((back < 0) | (back >= window), -torch.inf).softmax(2)
        ctx.save_for_backward(q, k, v, w)
        return (w.mT @ v).to(ctx.dtype)

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        g = g.to(w.dtype)
        gw = v @ g.mT
        gs = (w * (gw - (w * gw).sum(2, keepdim=True))).masked_fill(w == 0, 0)
        return (gs.mT @ k * q.size(-1) ** -0.5).to(ctx.dtype), (gs @ q).to(ctx.dtype), (w @ g).to(ctx.dtype), None


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if window < 1:
            raise ValueError(f"window must be at least 1, not {window}")
        self.num_heads, self.window = num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        B, T, C = x.shape
        q, k, v = (
            m(x).reshape(B, T, self.num_heads, -1).permute(0, 2, 1, 3) for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        o = Band.apply(q, k, v, self.window).permute(0, 2, 1, 3).reshape(B, T, C)
        keep = min(self.window, k.size(2))
        return self.o_proj(o), tuple(torch.cat([t.narrow(2, t.size(2) - keep, keep)]) for t in (k, v))
