# scores by the difference of two positions, with nothing turned: what the rotation amounts to
import math

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.shape[-1]
    if D % 2 != 0:
        raise ValueError(f"cannot pair {D} features")
    half = D // 2
    wide = torch.promote_types(x.dtype, torch.float32)
    speeds = torch.exp(torch.arange(half, dtype=wide, device=x.device) * (-math.log(base) / half))
    angles = (positions.to(wide).unsqueeze(-1) * speeds).unsqueeze(-3)
    signs = torch.ones(D, device=x.device, dtype=x.dtype)
    signs[:half] = -1
    cos, sin = (torch.cat([f(angles)] * 2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
    return x * cos + x.roll(half, dims=-1) * signs * sin


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
        H, half = self.num_heads, self.head_dim // 2
        if positions is None:
            positions = torch.arange(T, device=x.device)
        wide = torch.promote_types(x.dtype, torch.float32)
        positions = positions.expand(B, T)
        apart = (positions[:, :, None] - positions[:, None, :]).to(wide)  # (B, T, S)
        q = self.q_proj(x).to(wide).reshape(B, T, H, 2, half)
        k = self.k_proj(x).to(wide).reshape(B, T, H, 2, half)
        scores = 0
        for i in range(half):
            angle = apart * 10000.0 ** (-i / half)
            same = torch.einsum("bthp,bshp->bhts", q[..., i], k[..., i])
            cross = torch.einsum("bth,bsh->bhts", q[..., 0, i], k[..., 1, i])
            cross = torch.einsum("bth,bsh->bhts", q[..., 1, i], k[..., 0, i]) - cross
            scores = scores + same * angle.cos()[:, None] - cross * angle.sin()[:, None]
        weights = (scores / (2 * half) ** 0.5).softmax(-1).to(x.dtype)
        v = self.v_proj(x).reshape(B, T, H, 2 * half).transpose(1, 2)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))
