"""Attention without weights: softmax(x·xᵀ)·x.

A second way: ``torch.einsum("bqc,bkc->bqk", x, x)`` names the axes instead of swapping them.
"""

from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    """Mix the vectors of each sequence, weighted by softmax(x·xᵀ).

    Args:
        x: A batch of sequences, (B, T, C).

    Returns:
        (B, T, C).
    """
    # mT swaps the last two axes only: the batch stays, so no sequence meets another.
    scores = x @ x.mT  # (B, T, C) x (B, C, T) -> (B, T, T)
    # Row i holds what position i thinks of every position. Its shares must add up to 1, so the
    # softmax runs along the row. torch subtracts the row's maximum first: exp can't overflow.
    weights = scores.softmax(dim=-1)
    return weights @ x  # (B, T, T) x (B, T, C) -> (B, T, C)
