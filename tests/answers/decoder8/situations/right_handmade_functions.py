# right: RMSNorm as autograd.Function with its own backward, silu by torch.special.expit, prefixes for causality
import torch
from torch import Tensor, nn


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, eps: float) -> Tensor:
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = torch.rsqrt(torch.mean(h * h, dim=-1, keepdim=True) + eps)
        ctx.save_for_backward(h, scale)
        return (h * scale).to(x.dtype)

    @staticmethod
    def backward(ctx, grad: Tensor):
        h, scale = ctx.saved_tensors
        g = grad.to(h.dtype)
        unit = h * scale
        return ((g - unit * (g * unit).mean(-1, keepdim=True)) * scale).to(grad.dtype), None


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.ones(dim)))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * _Norm.apply(x, self.eps)


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        z = self.gate_proj(x)
        return self.down_proj(z * torch.special.expit(z) * self.up_proj(x))


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} is not divisible by {num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        H, T = self.num_heads, x.size(1)
        q, k, v = (p(x).unflatten(-1, (H, -1)).swapaxes(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        rows = [
            (q[:, :, t : t + 1] @ k[:, :, : t + 1].mT / q.size(-1) ** 0.5).softmax(-1) @ v[:, :, : t + 1]
            for t in range(T)
        ]
        return self.o_proj(torch.cat(rows, dim=2).swapaxes(1, 2).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))
