# Strange: RMSNorm by vector_norm and hypot, SiLU by F.glu of a doubled gate, one fused product for gate and up.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        size = torch.linalg.vector_norm(wide, dim=-1, keepdim=True) / x.size(-1) ** 0.5
        root = torch.hypot(size, torch.full_like(size, self.eps**0.5))
        return (wide / root).to(x.dtype) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = F.linear(x, torch.cat([self.gate_proj.weight, self.up_proj.weight])).chunk(2, -1)
        return self.down_proj(F.glu(torch.cat([gate, gate], -1), -1) * up)


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
        T = x.size(1)
        q, k, v = (m(x).unflatten(2, (self.num_heads, -1)) for m in (self.q_proj, self.k_proj, self.v_proj))
        s = torch.einsum("nthd,nshd->nhst", q, k) * q.size(-1) ** -0.5
        late = torch.ones(T, T, dtype=torch.bool, device=x.device).tril(-1)
        w = s.masked_fill(late, -torch.inf).softmax(2)
        return self.o_proj(torch.einsum("nhst,nshd->nthd", w, v).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm, self.ffn_norm = RMSNorm(embed_dim, eps), RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        return (h := x + self.attention(self.attention_norm(x))) + self.ffn(self.ffn_norm(h))
