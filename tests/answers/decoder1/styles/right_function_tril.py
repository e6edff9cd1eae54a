# Strange: a hand-written Function; the causal weights are exponentials cut by tril, over their own sums.
import torch
from torch import Tensor, nn


class Causal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        wide = torch.promote_types(q.dtype, torch.float32)
        s = q.to(wide) @ k.to(wide).mT * q.size(-1) ** -0.5
        past = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()
        s = torch.where(past, s, -torch.inf)
        e = (s - s.amax(-1, keepdim=True)).exp().tril()
        w = e / e.sum(-1, keepdim=True)
        ctx.save_for_backward(q, k, v, w)
        return (w @ v.to(wide)).to(q.dtype)

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        d = q.dtype
        q, k, v, g = (t.to(w.dtype) for t in (q, k, v, g))
        gw = (g @ v.mT).tril()
        gs = w * (gw - (gw * w).sum(-1, keepdim=True)) * q.size(-1) ** -0.5
        return (gs @ k).to(d), (gs.mT @ q).to(d), (w.mT @ g).to(d)


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads, self.max_len = num_heads, max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(1) > self.max_len:
            raise ValueError(f"{x.size(1)} > {self.max_len}")
        q, k, v = (
            m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        return self.o_proj(Causal.apply(q, k, v).transpose(1, 2).flatten(2))
