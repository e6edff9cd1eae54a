# right: scores as (B, H, S, T), softmax over the keys in dim 2; the angles once for queries and keys
import math

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.size(-1)
    if D % 2:
        raise ValueError(f"an even head size is needed, not {D}")
    return _turned(x, *_angles(positions, D, base, x.dtype))


def _angles(positions: Tensor, D: int, base: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    wide = torch.promote_types(dtype, torch.float32)
    rates = torch.arange(0, -D, -2, device=positions.device, dtype=wide).div(D)
    angles = positions[..., None, :, None].mul(torch.float_power(base, rates).to(wide))
    return torch.cos(angles), torch.sin(angles)


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.to(cos.dtype).view(*x.shape[:-1], 2, -1).unbind(-2) if x.is_contiguous() else x.to(cos.dtype).chunk(2, -1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -2).flatten(-2).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads or (embed_dim // num_heads) % 2:
            raise ValueError(f"{embed_dim} features do not make {num_heads} heads of an even size")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        if positions is None:
            positions = torch.ones(T, dtype=torch.long, device=x.device).cumsum(0)  # from 1 on
        heads = (B, T, self.num_heads, self.head_dim)
        q, k, v = (f(x).view(heads).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        angles = _angles(positions, self.head_dim, 10000.0, x.dtype)
        q, k = _turned(q, *angles), _turned(k, *angles)
        weights = torch.matmul(k, q.mT).div(math.sqrt(self.head_dim)).softmax(2)
        return self.o_proj(torch.matmul(weights.mT, v).transpose(1, 2).reshape(B, T, C))
