# right: rotation as a product of complex numbers, torch.polar in complex64 or complex128
import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.size(-1)
    if D % 2:
        raise ValueError(f"an odd number of features: {D}")
    wide = torch.promote_types(x.dtype, torch.float32)
    speeds = base ** (-torch.arange(0, D, 2, device=x.device, dtype=wide) / D)
    angles = positions.to(wide)[..., None] * speeds  # (T, D/2) or (B, T, D/2)
    if positions.dim() == 2:
        angles = angles[:, None]
    turns = torch.polar(torch.ones_like(angles), angles)
    a, b = x.to(wide).chunk(2, dim=-1)
    z = torch.complex(a, b) * turns
    return torch.cat((z.real, z.imag), dim=-1).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2:
            raise ValueError(f"embed_dim {embed_dim} / num_heads {num_heads} has to be whole and even")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        if positions is None:
            positions = torch.arange(x.size(1), device=x.device)
        q, k, v = (
            layer(x).unflatten(2, (self.num_heads, -1)).permute(0, 2, 1, 3)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(q, positions), rotate(k, positions)
        weights = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, dim=-1)
        return self.o_proj((weights @ v).permute(0, 2, 1, 3).flatten(2))
