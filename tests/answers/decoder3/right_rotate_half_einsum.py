# as Hugging Face writes it: rotate_half and doubled angles; einsum for the rest
import math

import torch
from torch import Tensor, nn


def rotate_half(x: Tensor) -> Tensor:
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    dim = x.shape[-1]
    if dim % 2 == 1:
        raise ValueError(f"the head size {dim} is odd")
    inner = torch.float32 if x.dtype != torch.float64 else torch.float64
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=inner, device=x.device) / dim))
    if positions.ndim == 1:
        positions = positions.unsqueeze(0)
    freqs = torch.einsum("bt,f->btf", positions.to(inner), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1).unsqueeze(1)
    return x * emb.cos().to(x.dtype) + rotate_half(x) * emb.sin().to(x.dtype)


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
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)[None].expand(x.shape[0], -1)
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, self.head_dim))
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        q = rotate(q.permute(0, 2, 1, 3), positions) * self.head_dim**-0.5
        k = rotate(k.permute(0, 2, 1, 3), positions)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        mixed = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)
        return self.o_proj(mixed.flatten(2))
