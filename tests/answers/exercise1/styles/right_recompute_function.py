# Strange: an autograd.Function that keeps logsumexp alone and computes the weights anew in the backward.
import torch
from torch import Tensor, nn


class Flashy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        wide = torch.promote_types(q.dtype, torch.float32)
        s = (q.to(wide) @ k.to(wide).mT) * q.size(-1) ** -0.5
        lse = s.logsumexp(-1, keepdim=True)
        o = (s - lse).exp() @ v.to(wide)
        ctx.save_for_backward(q, k, v, o, lse)
        return o.to(q.dtype)

    @staticmethod
    def backward(ctx, g):
        q, k, v, o, lse = ctx.saved_tensors
        dtype, scale = q.dtype, q.size(-1) ** -0.5
        q, k, v, g = (t.to(o.dtype) for t in (q, k, v, g))
        p = (q @ k.mT * scale - lse).exp()
        gs = p * (g @ v.mT - (g * o).sum(-1, keepdim=True)) * scale
        return (gs @ k).to(dtype), (gs.mT @ q).to(dtype), (p.mT @ g).to(dtype)


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        return Flashy.apply(self.q(x), self.k(x), self.v(x))
