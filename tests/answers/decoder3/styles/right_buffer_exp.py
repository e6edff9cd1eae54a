# Strange: feature numbers are an int64 buffer that is not saved; speeds by exp(-log(base)); online softmax over keys.
import math

import torch
from torch import Tensor, nn


def _angles(index: Tensor, positions: Tensor, wide: torch.dtype, base: float) -> Tensor:
    speed = torch.exp(index.to(wide) * (-math.log(base) / index.numel()))
    angle = positions.to(wide).unsqueeze(-1).mul(speed)
    return angle if positions.ndim < 2 else angle.unsqueeze(-3)


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    half, odd = divmod(x.shape[-1], 2)
    if odd:
        raise ValueError(f"D = {2 * half + 1}")
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = _angles(torch.arange(half, device=x.device), positions, wide, base)
    return _apply(x, angle)


def _apply(x: Tensor, angle: Tensor) -> Tensor:
    a, b = x.to(angle.dtype).split(x.size(-1) // 2, -1)
    z = torch.view_as_complex(torch.stack([a, b], -1)) * torch.view_as_complex(torch.stack([angle.cos(), angle.sin()], -1))
    return torch.view_as_real(z).mT.flatten(-2).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2:
            raise ValueError(f"embed_dim {embed_dim}, num_heads {num_heads}")
        self.num_heads = num_heads
        self.register_buffer("index", torch.arange(embed_dim // num_heads // 2), persistent=False)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        where = torch.arange(x.size(1), device=x.device) if positions is None else positions
        angle = _angles(self.index, where, wide, 10000.0)
        q, k, v = (
            m(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2).to(wide)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = _apply(q, angle) / q.size(-1) ** 0.5, _apply(k, angle)
        m = torch.full_like(q[..., :1], -torch.inf)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for kb, vb in zip(k.split(70, 2), v.split(70, 2)):
            s = q @ kb.mT
            top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            c, p = (m - top).exp(), (s - top).exp()
            z, o, m = z * c + p.sum(-1, keepdim=True), o * c + p @ vb, top
        return self.o_proj((o / z).transpose(1, 2).flatten(2).to(x.dtype))
