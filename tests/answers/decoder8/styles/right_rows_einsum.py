# Strange: everything is an einsum on raw weights; online softmax over key blocks; a property and a mixin for the norm.
import torch
from torch import Tensor, nn


class Widening:
    @staticmethod
    def wide(x: Tensor) -> Tensor:
        return x.to(torch.promote_types(x.dtype, torch.float32))


class RMSNorm(Widening, nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        nn.Module.__init__(self)
        self.weight = nn.Parameter(torch.ones(dim))
        self._eps = eps

    @property
    def eps(self) -> float:
        return self._eps

    def forward(self, x: Tensor) -> Tensor:
        y = self.wide(x)
        scale = y.pow(2).sum(-1, keepdim=True).div(y.shape[-1]).add(self.eps).sqrt().reciprocal()
        return torch.einsum("...c,c->...c", (y * scale).type_as(x), self.weight)


class SwiGLU(Widening, nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        nn.Module.__init__(self)
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        both = torch.stack([self.gate_proj.weight, self.up_proj.weight])
        gate, up = torch.einsum("...c,phc->p...h", x, both)
        return torch.einsum("...h,ch->...c", nn.functional.silu(gate) * up, self.down_proj.weight)


class CausalSelfAttention(Widening, nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        nn.Module.__init__(self)
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        three = torch.stack([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight]).unflatten(1, (self.num_heads, -1))
        q, k, v = self.wide(torch.einsum("btc,phdc->pbhtd", x, three))
        q = q / q.size(-1) ** 0.5
        at = torch.arange(x.size(1), device=x.device)
        m = torch.full_like(q[..., :1], torch.finfo(q.dtype).min)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for kb, vb, ab in zip(k.split(90, 2), v.split(90, 2), at.split(90)):
            s = torch.where(ab > at[:, None], -torch.inf, q @ kb.mT)
            top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            c, p = (m - top).exp(), (s - top).exp()
            z, o, m = z * c + p.sum(-1, keepdim=True), o * c + p @ vb, top
        weight = self.o_proj.weight.unflatten(1, (self.num_heads, -1))
        return torch.einsum("bhtd,chd->btc", (o / z).type_as(x), weight)


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        h = self.attention(self.attention_norm(x)).add(x)
        return self.ffn(self.ffn_norm(h)).add(h)
