# Strange: the norm, the gated unit and the attention are autograd.Functions with gradients by hand.
import torch
from torch import Tensor, nn


def _wide(t: Tensor) -> Tensor:
    return t.to(torch.promote_types(t.dtype, torch.float32))


class Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        inverse = torch.rsqrt(_wide(x).square().mean(-1, keepdim=True) + eps)
        unit = _wide(x) * inverse
        ctx.save_for_backward(unit, inverse)
        ctx.dtype = x.dtype
        return unit.to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        unit, inverse = ctx.saved_tensors
        g = g.to(unit.dtype)
        return ((g - unit * (g * unit).mean(-1, keepdim=True)) * inverse).to(ctx.dtype), None


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, u):
        ctx.save_for_backward(z, u)
        return (_wide(z) * _wide(z).sigmoid() * _wide(u)).to(z.dtype)

    @staticmethod
    def backward(ctx, g):
        dtype = g.dtype
        z, u, g = map(_wide, (*ctx.saved_tensors, g))
        s = z.sigmoid()
        return (g * u * s * (1 + z * (1 - s))).to(dtype), (g * z * s).to(dtype)


class Past(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        late = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device).triu(1)
        s = _wide(q) @ _wide(k).mT * q.size(-1) ** -0.5
        w = s.masked_fill(late, -torch.inf).softmax(-1)
        ctx.save_for_backward(q, k, v, w)
        return (w @ _wide(v)).to(q.dtype)

    @staticmethod
    def backward(ctx, g):
        dtype = g.dtype
        q, k, v, w, g = map(_wide, (*ctx.saved_tensors, g))
        gw = g @ v.mT
        gs = w * (gw - (w * gw).sum(-1, keepdim=True)) * q.size(-1) ** -0.5
        return (gs @ k).to(dtype), (gs.mT @ q).to(dtype), (w.mT @ g).to(dtype)


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * Unit.apply(x, self.eps)


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(Gate.apply(self.gate_proj(x), self.up_proj(x)))


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        heads = (m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(Past.apply(*heads).transpose(1, 2).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        h = x + self.attention(self.attention_norm(x))
        return h + self.ffn(self.ffn_norm(h))
