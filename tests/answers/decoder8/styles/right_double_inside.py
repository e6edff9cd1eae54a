# Strange: attention and norm in float64 inside whatever comes in; heads one by one; growing key slices in chunks.
import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones((dim,)))

    def forward(self, x: Tensor) -> Tensor:
        y = x.double()
        y = y * (y.norm(dim=-1, keepdim=True).square() / self.dim + self.eps).rsqrt()
        return (y * self.weight.double()).to(x.dtype)


class SwiGLU(nn.Sequential):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up, down = self
        return down(nn.SiLU()(gate(x)) * up(x))


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

    @staticmethod
    def _head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows, at = [], torch.arange(k.size(1), device=k.device)
        for qs, rs in zip(q.split(100, 1), at.split(100)):
            n = sum(r.size(1) for r in rows) + qs.size(1)
            s = qs @ k[:, :n].mT * k.size(-1) ** -0.5
            rows.append(s.masked_fill(at[:n] > rs[:, None], -torch.inf).softmax(-1) @ v[:, :n])
        return torch.cat(rows, 1)

    def forward(self, x: Tensor) -> Tensor:
        parts = (m(x).double().chunk(self.num_heads, -1) for m in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(torch.cat([self._head(*p) for p in zip(*parts)], -1).to(x.dtype))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        x = sum((self.attention(self.attention_norm(x)),), x)
        return sum((self.ffn(self.ffn_norm(x)),), x)
