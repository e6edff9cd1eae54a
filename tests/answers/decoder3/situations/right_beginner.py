# right: loops over sequences and heads, one line after another
import math

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    B, H, T, D = x.shape
    if D % 2 == 1:
        raise ValueError("D is odd: " + str(D))
    if x.dtype == torch.float64:
        angle_dtype = torch.float64
    else:
        angle_dtype = torch.float32
    columns = []
    for i in range(D // 2):
        theta = base ** (-2.0 * i / D)
        columns.append(positions.to(angle_dtype) * theta)
    angles = torch.stack(columns, dim=-1)
    if len(positions.shape) == 1:
        angles = angles.reshape(1, 1, T, D // 2)
    else:
        angles = angles.reshape(B, 1, T, D // 2)
    cos = torch.cos(angles)
    sin = torch.sin(angles)
    out = torch.zeros_like(x, dtype=angle_dtype)
    for i in range(D // 2):
        out[..., i] = x[..., i] * cos[..., i] - x[..., i + D // 2] * sin[..., i]
        out[..., i + D // 2] = x[..., i + D // 2] * cos[..., i] + x[..., i] * sin[..., i]
    return out.to(x.dtype)


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
        H, D = self.num_heads, self.head_dim
        if positions is None:
            positions = torch.arange(T).to(x.device)
        q = self.q_proj(x).reshape(B, T, H, D).permute(0, 2, 1, 3)
        k = self.k_proj(x).reshape(B, T, H, D).permute(0, 2, 1, 3)
        v = self.v_proj(x).reshape(B, T, H, D).permute(0, 2, 1, 3)
        q = rotate(q, positions)
        k = rotate(k, positions)
        rows = []
        for b in range(B):
            heads = []
            for h in range(H):
                scores = torch.matmul(q[b, h], k[b, h].transpose(0, 1)) / math.sqrt(D)
                heads.append(torch.matmul(torch.softmax(scores, dim=-1), v[b, h]))
            rows.append(torch.cat(heads, dim=-1))
        return self.o_proj(torch.stack(rows, dim=0))
