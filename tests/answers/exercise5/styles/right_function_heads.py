# Strange: a hand-written autograd.Function on tensors of (B, T, H, D), by einsum alone.
import torch
from torch import Tensor, nn


class Heads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        ctx.dtype = q.dtype
        q, k, v = (t.to(torch.promote_types(t.dtype, torch.float32)) for t in (q, k, v))
        q = q * q.size(-1) ** -0.5
        w = torch.einsum("bihd,bjhd->bhij", q, k).softmax(-1)
        ctx.save_for_backward(q, k, v, w)
        return torch.einsum("bhij,bjhd->bihd", w, v).to(ctx.dtype)

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        g = g.to(w.dtype)
        gv = torch.einsum("bhij,bihd->bjhd", w, g)
        gw = torch.einsum("bihd,bjhd->bhij", g, v)
        gs = w * (gw - (gw * w).sum(-1, keepdim=True))
        gq = torch.einsum("bhij,bjhd->bihd", gs, k) * q.size(-1) ** -0.5
        gk = torch.einsum("bhij,bihd->bjhd", gs, q)
        return gq.to(ctx.dtype), gk.to(ctx.dtype), gv.to(ctx.dtype)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.shape = (num_heads, embed_dim // num_heads)
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = (m(x).unflatten(-1, self.shape) for m in (self.to_queries, self.to_keys, self.to_values))
        return self.unify_heads(Heads.apply(*parts).flatten(-2))
