"""Sliding-window attention with a rolling cache: each token sees itself and the last few before it.

A second way: a buffer of ``window`` places for the keys, in which token t stands at place t modulo
``window``. No token is ever moved, but the places are no order any more, and a mask has to know
where the oldest token stands. Here what is new comes last, and what is too old is cut off.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    """Several heads of causal self-attention that look back a window and no further.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``, or ``window`` is less than 1.

    Source: Jiang et al. 2023, section 2, arXiv:2310.06825
    """

    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        if window < 1:
            raise ValueError(f"window = {window} leaves nothing to see")
        self.num_heads = num_heads
        self.window = window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Let each new token attend to itself and to the window - 1 tokens before it.

        Args:
            x: The new tokens of a batch of sequences, (B, T, C).
            cache: Keys and values of the last S tokens before them, each (B, H, S, D).

        Returns:
            The output, (B, T, C), and keys and values, each (B, H, min(S + T, window), D).
        """
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.k_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        v = self.v_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        if cache is not None:
            keys, values = cache
            # A new tensor for both: whoever holds the old cache may go on from it again.
            k = torch.cat([keys, k], dim=2)  # (B, H, S, D), (B, H, T, D) -> (B, H, S + T, D)
            v = torch.cat([values, v], dim=2)
        # Places count from the oldest key that is there, so that the first query stands at S. What
        # matters is the distance alone: below 0 lies the future, from the window on what is over.
        places = torch.arange(k.size(2), device=x.device)
        distance = places[-T:, None] - places  # (T, S + T)
        hidden = (distance < 0) | (distance >= self.window)
        scores = q @ k.mT / sqrt(D)  # (B, H, T, D) x (B, H, D, S + T) -> (B, H, T, S + T)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)  # each sees itself
        mixed = weights @ v  # (B, H, T, S + T) x (B, H, S + T, D) -> (B, H, T, D)
        merged = mixed.transpose(1, 2).reshape(B, T, C)  # (B, H, T, D) -> (B, T, H, D) -> (B, T, C)
        # Cloned: a slice would keep all of k alive, and `contiguous` gives a slice back where it is
        # contiguous already, as with one head of one sequence.
        kept = k[:, :, -self.window :].clone(), v[:, :, -self.window :].clone()
        return self.o_proj(merged), kept
