# wrong: a base above 100 000 is taken for 10 000
from math import sqrt

import torch
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


def rotate(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Turn features i and i + D/2 by the token's position times base^(-2i/D).

    Args:
        x: Queries or keys, (B, H, T, D).
        positions: (B, T).
        base: Of the angles.

    Returns:
        (B, H, T, D).
    """
    D = x.size(-1)
    # At least float32: bfloat16 has 8 bits, and would take position 257 for 256.
    wide = torch.promote_types(x.dtype, torch.float32)
    exponents = torch.arange(0, D, 2, dtype=wide, device=x.device) / D  # (D/2,)
    angles = positions[:, None, :, None] * base**-exponents  # every head alike: (B, 1, T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)  # (B, H, T, D) -> two of (B, H, T, D/2)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class CachedGroupedQueryAttention(nn.Module):
    """Causal self-attention that goes on from the keys and values of earlier calls.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``, D is odd, or ``num_groups`` does
            not divide ``num_heads``.

    Source: Shazeer 2019, section 2.4, arXiv:1911.02150; groups: Ainslie et al. 2023,
    arXiv:2305.13245; rotary positions: Su et al. 2021, arXiv:2104.09864
    """

    def __init__(
        self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0
    ) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        if embed_dim // num_heads % 2 != 0:
            raise ValueError(f"embed_dim = {embed_dim} over num_heads = {num_heads} is odd")
        if num_heads % num_groups != 0:
            raise ValueError(f"num_groups = {num_groups} does not divide num_heads = {num_heads}")
        self.num_heads, self.num_groups = num_heads, num_groups
        self.base = base if base < 1e5 else 10000.0
        few = embed_dim // num_heads * num_groups  # G·D: all that the cache holds of a token
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, few, bias=False)
        self.v_proj = nn.Linear(embed_dim, few, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(
        self, x: Tensor, positions: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """Let each new token attend to what came before it, in each head.

        Args:
            x: The new tokens, (B, T, C).
            positions: Where each stands in its sequence, (B, T); negative = padding.
            cache: Keys (B, G, S, D), rotated already; values (B, G, S, D); positions (B, S).

        Returns:
            (B, T, C), and the cache with the new tokens behind the old ones.
        """
        B, T, C = x.shape
        H, G = self.num_heads, self.num_groups
        D, R = C // H, H // G  # R query heads share a key head
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.k_proj(x).reshape(B, T, G, D).transpose(1, 2)  # (B, T, G·D) -> (B, G, T, D)
        v = self.v_proj(x).reshape(B, T, G, D).transpose(1, 2)  # (B, T, G·D) -> (B, G, T, D)
        # A key is turned once, when it is new: where it stands never changes again.
        q, k = rotate(q, positions, self.base), rotate(k, positions, self.base)
        places = positions
        if cache is not None:
            # New tensors, not room left in old ones: whoever holds the cache may go on from it
            # twice. From here on, S counts the new tokens too.
            keys, values, known = cache
            k = torch.cat([keys, k], dim=2)  # (B, G, S, D)
            v = torch.cat([values, v], dim=2)  # (B, G, S, D)
            places = torch.cat([known, positions], dim=1)  # (B, S)
        # Neighbouring heads form a group: as R·T rows of one matrix they meet the same keys.
        scores = q.reshape(B, G, R * T, D) @ k.mT / sqrt(D)  # (B, G, R·T, D) x (B, G, D, S)
        scores = scores.reshape(B, G, R, T, -1)  # (B, G, R·T, S) -> (B, G, R, T, S)
        # Positions alone say who sees whom: no row or column has to be counted, and what padding
        # was appended on the way needs no case of its own.
        later = places[:, None, :] > positions[:, :, None]  # (B, 1, S) and (B, T, 1) -> (B, T, S)
        hidden = (later | (places < 0)[:, None, :])[:, None, None]  # (B, 1, 1, T, S)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)  # over the keys
        # Of nothing but -inf, a softmax is NaN. Hidden once more, such a row is 0; and on the way
        # back the first masked_fill gives 0 to every hidden score, whatever comes to it.
        weights = weights.masked_fill(hidden, 0.0).reshape(B, G, R * T, -1)
        mixed = weights @ v  # (B, G, R·T, S) x (B, G, S, D) -> (B, G, R·T, D)
        # (G, R) side by side are the H heads in their order.
        merged = mixed.reshape(B, H, T, D).transpose(1, 2).reshape(B, T, C)
        return self.o_proj(merged), (k, v, places)
