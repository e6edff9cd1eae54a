# right: one head of one sequence, under vmap twice
import math

import torch
from torch import Tensor, nn


def _turn(x: Tensor, places: Tensor, base: float) -> Tensor:
    """(T, D) and (T,)."""
    half = x.shape[-1] // 2
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = places.to(wide)[:, None] / base ** (torch.arange(half, device=x.device, dtype=wide) / half)
    a, b = x[:, :half], x[:, half:]
    return torch.hstack([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()]).to(x.dtype)


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2:
        raise ValueError(f"odd D = {x.shape[-1]}")
    of_heads = torch.vmap(lambda y, p: _turn(y, p, base), in_dims=(0, None))
    return torch.vmap(of_heads, in_dims=(0, 0 if positions.ndim == 2 else None))(x, positions)


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
        places = torch.arange(x.shape[1], device=x.device) if positions is None else positions

        def one(q, k, v, p):
            q, k = _turn(q, p, 10000.0), _turn(k, p, 10000.0)
            return (q @ k.T * q.shape[-1] ** -0.5).softmax(1) @ v

        cut = [
            layer(x).unflatten(-1, (self.num_heads, -1)) for layer in (self.q_proj, self.k_proj, self.v_proj)
        ]
        heads = torch.vmap(one, in_dims=(1, 1, 1, None), out_dims=1)
        every = torch.vmap(heads, in_dims=(0, 0, 0, 0 if places.ndim == 2 else None))
        return self.o_proj(every(*cut, places).flatten(2))
