# unusual: a pair is a complex number, a turn a product with one of length 1
import math

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.shape[-1]
    if D % 2:
        raise ValueError(f"D must be even, got {D}")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    speeds = 1.0 / base ** (torch.arange(0, D, 2, device=x.device, dtype=wide) / D)
    angles = positions.to(wide)[..., None, :, None] * speeds
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.complex(*x.to(wide).chunk(2, dim=-1)) * turns
    return torch.cat([pairs.real, pairs.imag], dim=-1).to(x.dtype)


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
        batch, length, width = x.shape
        if positions is None:
            positions = torch.arange(length, device=x.device)

        def cut(layer):
            return layer(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

        q, k = rotate(cut(self.q_proj), positions), rotate(cut(self.k_proj), positions)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        out = (weights @ cut(self.v_proj)).transpose(1, 2).contiguous().view(batch, length, width)
        return self.o_proj(out)
