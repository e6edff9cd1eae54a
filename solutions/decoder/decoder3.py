"""Rotary positions: queries and keys are turned by where they stand, so that scores see distances.

A second way: take a pair for a complex number, ``torch.complex(a, b)``, and multiply by
``torch.polar(1, angle)``: turning is what a product with a number of length 1 does.
"""

from math import sqrt

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of features by its token's position.

    Args:
        x: Queries or keys, (B, H, T, D).
        positions: Where the tokens stand: (T,), the same in every sequence, or (B, T).
        base: Above 1; pair i turns by base^(-2i/D) from one position to the next.

    Returns:
        (B, H, T, D).

    Raises:
        ValueError: D is odd.

    Source: Su et al. 2021, section 3.4.2, arXiv:2104.09864; in halves: Black et al. 2022,
    arXiv:2204.06745
    """
    D = x.size(-1)
    if D % 2 != 0:
        raise ValueError(f"D = {D} is odd: one feature would have no partner")
    # At least float32: bfloat16 has 8 bits, and would take position 257 for 256.
    wide = torch.promote_types(x.dtype, torch.float32)
    exponents = torch.arange(0, D, 2, dtype=wide, device=x.device) / D  # (D/2,)
    speeds = base**-exponents  # from 1, the fastest, down to nearly 1/base
    angles = positions.unsqueeze(-1) * speeds  # (T, D/2) or (B, T, D/2)
    angles = angles.unsqueeze(-3)  # every head turns alike: (1, T, D/2) or (B, 1, T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)  # (B, H, T, D) -> two of (B, H, T, D/2): feature i meets i + D/2
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class RotarySelfAttention(nn.Module):
    """Several heads of self-attention that know where each token stands.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``, or D is odd.

    Source: Su et al. 2021, section 3.4.2, arXiv:2104.09864
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        if embed_dim // num_heads % 2 != 0:
            raise ValueError(f"embed_dim = {embed_dim} over num_heads = {num_heads} is odd")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Let each position attend to every position of its own sequence, in each head.

        Args:
            x: A batch of sequences, (B, T, C).
            positions: Where the tokens stand: (T,) or (B, T); None stands for 0 to T − 1.

        Returns:
            (B, T, C).
        """
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        if positions is None:
            positions = torch.arange(T, device=x.device)
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.k_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        v = self.v_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        # Heads first, then turn: each head has all speeds. Both turn, so a product of the two sees
        # the difference of their positions; a value says the same wherever it stands.
        q, k = rotate(q, positions), rotate(k, positions)  # lengths stay, so √D stays right
        scores = q @ k.mT / sqrt(D)  # (B, H, T, D) x (B, H, D, T) -> (B, H, T, T)
        weights = scores.softmax(dim=-1)  # over the keys: each query's row adds up to 1
        mixed = weights @ v  # (B, H, T, T) x (B, H, T, D) -> (B, H, T, D)
        merged = mixed.transpose(1, 2).reshape(B, T, C)  # (B, H, T, D) -> (B, T, H, D) -> (B, T, C)
        return self.o_proj(merged)
