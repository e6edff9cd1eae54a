# a loop over heads, with slices of the weights; the turn as a matrix of blocks
import math

import torch
from torch import Tensor, nn


def turns(positions: Tensor, D: int, base: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    i = torch.arange(D // 2, device=positions.device, dtype=dtype)
    theta = torch.exp(-math.log(base) * 2 * i / D)
    angle = positions[..., None] * theta
    return torch.cos(angle), torch.sin(angle)


def turn_one(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """(B, T, D), one head."""
    wide = torch.promote_types(torch.float32, x.dtype)
    c, s = turns(positions, x.shape[-1], base, wide)
    rows = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)  # (.., D/2, 2, 2)
    pairs = torch.stack(x.to(wide).tensor_split(2, dim=-1), dim=-1)[..., None]
    turned = (rows @ pairs).squeeze(-1)
    return torch.cat([turned[..., 0], turned[..., 1]], dim=-1).to(x.dtype)


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2 != 0:
        raise ValueError("odd head size: %d" % x.shape[-1])
    return torch.stack([turn_one(head, positions, base) for head in x.unbind(1)], dim=1)


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
        D = self.head_dim
        places = torch.arange(x.shape[1], device=x.device) if positions is None else positions
        found = []
        for start in range(0, self.num_heads * D, D):
            rows = slice(start, start + D)
            q = turn_one(x @ self.q_proj.weight[rows].T, places, 10000.0)
            k = turn_one(x @ self.k_proj.weight[rows].T, places, 10000.0)
            v = x @ self.v_proj.weight[rows].T
            found.append((q @ k.mT / D**0.5).softmax(dim=2) @ v)
        return self.o_proj(torch.cat(found, dim=2))
