# wrong: 'queries and keys are rotated' - where there are several heads
import math

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    dim = x.shape[-1]
    if dim % 2:
        raise ValueError(f"cannot rotate an odd number of features: {dim}")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    inv_freq = base ** (-torch.arange(0, dim, 2, device=x.device, dtype=wide) / dim)
    angles = positions[..., None].to(wide) * inv_freq
    if positions.dim() == 2:
        angles = angles[:, None]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., : dim // 2], x[..., dim // 2 :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        if self.head_dim % 2:
            raise ValueError(f"{num_heads} heads of {embed_dim} features have an odd size")
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        batch, length, width = x.shape
        if positions is None:
            positions = torch.arange(length, device=x.device)
        split = (batch, length, self.num_heads, self.head_dim)
        q = self.q_proj(x).reshape(split).transpose(1, 2)
        k = self.k_proj(x).reshape(split).transpose(1, 2)
        v = self.v_proj(x).reshape(split).transpose(1, 2)
        if self.num_heads > 1:
            q, k = rotate(q, positions), rotate(k, positions)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(batch, length, width))
