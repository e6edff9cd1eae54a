# a buffer with the exponents, which are small whole numbers: exact in any dtype
import math

import torch
from torch import Tensor, nn


def cos_sin(positions: Tensor, exponents: Tensor, base: float) -> tuple[Tensor, Tensor]:
    angles = positions.unsqueeze(-1) * torch.pow(base, -exponents)
    if positions.dim() == 2:
        angles = angles[:, None]
    return angles.cos(), angles.sin()


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.size(3)
    if D % 2:
        raise ValueError(f"D = {D}")
    wide = x if x.dtype == torch.float64 else x.float()
    c, s = cos_sin(positions, torch.arange(0, D, 2, device=x.device).to(wide.dtype) / D, base)
    a, b = torch.split(wide, D // 2, dim=3)
    return torch.cat((torch.addcmul(a * c, b, s, value=-1), torch.addcmul(b * c, a, s)), 3).type_as(x)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads or (embed_dim // num_heads) % 2:
            raise ValueError(f"{embed_dim} features do not make {num_heads} heads of an even size")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

        self.register_buffer("_even", torch.arange(0, self.head_dim, 2), persistent=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        if positions is None:
            positions = torch.cumsum(torch.ones(T, device=x.device, dtype=torch.int32), 0) - 1
        q = self.q_proj(x).view(B, T, -1, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(B, T, -1, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(B, T, -1, self.head_dim).transpose(1, 2)
        wide = torch.promote_types(x.dtype, torch.float32)
        c, s = cos_sin(positions, self._even.to(wide) / self.head_dim, 10_000)

        def turned(y: Tensor) -> Tensor:
            a, b = y.to(wide).chunk(2, -1)
            return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)

        weights = nn.functional.softmax(turned(q) @ turned(k).mT * self.head_dim**-0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(B, T, C))
