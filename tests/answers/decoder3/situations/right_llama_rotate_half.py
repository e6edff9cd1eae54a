# right: rotate_half as in Llama's code, speeds by exp and log, cos and sin in float32 and then in the dtype of x
import math

import torch
from torch import Tensor, nn


def rotate_half(x: Tensor) -> Tensor:
    first, second = x.tensor_split(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] & 1:
        raise ValueError(f"D = {x.shape[-1]} is odd")
    kind = torch.float64 if x.dtype is torch.float64 else torch.float32
    half = x.shape[-1] // 2
    index = torch.arange(half, dtype=kind, device=x.device)
    inv_freq = torch.exp(index * (-math.log(base) / half))
    freqs = torch.einsum("...t,f->...tf", positions.to(kind), inv_freq)
    emb = freqs.repeat(*(1,) * (freqs.ndim - 1), 2)
    cos, sin = emb.cos().to(x.dtype), emb.sin().to(x.dtype)
    if positions.ndim > 1:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return x * cos + rotate_half(x) * sin


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % (2 * num_heads) != 0:
            raise ValueError(f"{embed_dim} must be a multiple of twice {num_heads}")
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        position_ids = torch.arange(T, device=x.device)[None] if positions is None else positions
        shape = (B, T, self.num_heads, self.head_dim)
        q = rotate(self.q_proj(x).view(shape).transpose(1, 2), position_ids)
        k = rotate(self.k_proj(x).view(shape).transpose(1, 2), position_ids)
        v = self.v_proj(x).view(shape).transpose(1, 2)
        attn = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        attn = nn.functional.softmax(attn, dim=-1, dtype=torch.promote_types(x.dtype, torch.float32)).to(x.dtype)
        return self.o_proj(torch.matmul(attn, v).transpose(1, 2).contiguous().view(B, T, C))
