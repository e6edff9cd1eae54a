# an autograd.Function: the way back is the turn back
import math

import torch
from torch import Tensor, nn


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        a, b = grad.chunk(2, -1)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1), None, None


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.shape[-1]
    if D % 2:
        raise ValueError(f"D is {D}, which is odd")
    wide = torch.float64 if x.dtype is torch.float64 else torch.float32
    speeds = torch.logspace(0, -1, D // 2 + 1, base=base, dtype=wide, device=x.device)[:-1]
    angles = torch.outer(positions.reshape(-1).to(wide), speeds)
    angles = angles.reshape(*positions.shape[:-1], 1, positions.shape[-1], D // 2)
    return Turn.apply(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


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
        if positions is None:
            positions = torch.arange(1000, 1000 + T, device=x.device)  # differences alone count
        q, k, v = (
            torch.stack(layer(x).split(self.head_dim, dim=-1), dim=1)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(torch.cat([q, k], dim=1), positions).chunk(2, dim=1)
        weights = torch.log_softmax(q @ k.mT / self.head_dim**0.5, dim=-1).exp()
        return self.o_proj(torch.cat((weights @ v).unbind(1), dim=-1))
