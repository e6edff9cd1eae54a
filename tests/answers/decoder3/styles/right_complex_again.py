# Strange: pairs are complex numbers, turned by torch.polar.
import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.size(-1)
    if D % 2:
        raise ValueError(f"D = {D} is odd")
    wide = torch.promote_types(x.dtype, torch.float32)
    i = torch.arange(D // 2, device=x.device, dtype=wide)
    angle = positions.to(wide)[..., None] * base ** (-2 * i / D)
    turn = torch.polar(torch.ones_like(angle), angle)
    if positions.ndim == 2:
        turn = turn[:, None]
    pairs = torch.complex(*(half.to(wide) for half in x.chunk(2, -1))) * turn
    return torch.cat([pairs.real, pairs.imag], -1).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2:
            raise ValueError(f"embed_dim = {embed_dim}, num_heads = {num_heads}: no even width for a head")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        if positions is None:
            positions = torch.arange(x.size(1), device=x.device)
        q, k, v = (
            m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(q, positions), rotate(k, positions)
        w = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, -1)
        return self.o_proj((w @ v).transpose(1, 2).flatten(2))
