# Strange: the partner comes by torch.roll, the sign by cat; addcmul; the heads are rotated in (B, T, H, D) by a view.
import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.size(-1)
    if D & 1:
        raise ValueError(f"cannot pair {D} features")
    wide = torch.promote_types(x.dtype, torch.float32)
    speed = 1.0 / base ** (torch.arange(0, D, 2, device=x.device).to(wide) / D)
    angle = positions.to(wide).unsqueeze(-1) * speed
    angle = angle if positions.ndim == 1 else angle.unsqueeze(1)
    cos = angle.cos().repeat((1,) * (angle.ndim - 1) + (2,))
    sin = torch.cat([-angle.sin(), angle.sin()], -1)
    y = x.to(wide)
    return torch.addcmul(y * cos, y.roll(D // 2, -1), sin).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % (2 * num_heads):
            raise ValueError(f"embed_dim {embed_dim} is no multiple of twice num_heads {num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        positions = torch.arange(T, device=x.device) if positions is None else positions
        both = torch.cat([self.q_proj(x), self.k_proj(x)], -1).unflatten(-1, (2 * self.num_heads, -1)).transpose(1, 2)
        q, k = rotate(both, positions).chunk(2, 1)
        v = self.v_proj(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        s = torch.matmul(q, (k * q.size(-1) ** -0.5).transpose(2, 3))
        return self.o_proj(torch.matmul(s.softmax(3), v).transpose(1, 2).reshape(B, T, C))
