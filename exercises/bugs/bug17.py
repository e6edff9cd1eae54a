"""A passage that changes as the text before it grows.

A colleague reports: "I put blank pages before a passage, so that all of its positions are 500 more.
Every attention map stays what it was, to the last digit, but the outputs are others. At positions
0 to T - 1 they are wrong as well, though the first token of a text looks quite right there."

The contract is that of decoder3: the names of function, class and layers, and the rules that stand
in its file. Repair this one in place, with as few changes as it takes.
"""

from math import sqrt

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of features by its token's position, (B, H, T, D).

    Source: Su et al. 2021, section 3.4.2, arXiv:2104.09864
    """
    half, odd = divmod(x.size(-1), 2)
    if odd:
        raise ValueError(f"D = {x.size(-1)} is odd")
    wide = torch.promote_types(x.dtype, torch.float32)
    speeds = base ** -(torch.arange(half, dtype=wide, device=x.device) / half)
    angles = positions.unsqueeze(-1) * speeds  # (T, D/2) or (B, T, D/2)
    turns = torch.polar(torch.ones_like(angles), angles).unsqueeze(-3)
    cos, sin = turns.real.to(x.dtype), turns.imag.to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class RotarySelfAttention(nn.Module):
    """Several heads of self-attention that know where each token stands.

    Source: Su et al. 2021, section 3.4.2, arXiv:2104.09864
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % (2 * num_heads):
            raise ValueError(f"{embed_dim} features are no {num_heads} heads of an even size")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, C) -> (B, H, T, D)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Let each position attend to all of its own sequence, in each head, (B, T, C)."""
        if positions is None:
            positions = torch.arange(x.size(1), device=x.device)
        layers = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (rotate(self.split(layer(x)), positions) for layer in layers)
        scores = q @ k.transpose(-2, -1) / sqrt(q.size(-1))
        mixed = scores.softmax(dim=-1) @ v
        return self.o_proj(mixed.transpose(1, 2).flatten(2))
