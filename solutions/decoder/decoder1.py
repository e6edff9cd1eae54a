"""Causal multi-head self-attention: no token sees what comes after it.

A second way: no buffer, and ``torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)`` in
``forward``. It costs T × T bits of work in each call and nothing in between.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Several heads of self-attention side by side, each of which sees the past alone.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``.

    Source: Vaswani et al. 2017, sections 3.2.2 and 3.2.3, arXiv:1706.03762
    """

    future: Tensor

    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        # An error, not an assert: python -O removes asserts.
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.max_len = max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        # A buffer moves with the module, and as bools it stays what it is in every dtype. Not
        # persistent: what is saved must not depend on max_len.
        future = torch.ones(max_len, max_len, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Let each token attend to itself and to all before it in its own sequence, in each head.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C).

        Raises:
            ValueError: T is more than ``max_len``.
        """
        B, T, C = x.shape
        if self.max_len < T:
            raise ValueError(f"T = {T} tokens are more than max_len = {self.max_len}")
        H, D = self.num_heads, C // self.num_heads
        # Consecutive features form a head; heads stand next to the batch, so that a product over
        # the last two axes stays inside one head of one sequence.
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.k_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        v = self.v_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        scores = q @ k.mT / sqrt(D)  # (B, H, T, D) x (B, H, D, T) -> (B, H, T, T)
        # Before the softmax, so that each row shares out exactly 1 over what it may see; -inf,
        # since nothing lower exists: the first T rows and columns of the mask serve any T.
        scores = scores.masked_fill(self.future[:T, :T], float("-inf"))
        weights = scores.softmax(dim=-1)  # no row is hidden throughout: each token sees itself
        mixed = weights @ v  # (B, H, T, T) x (B, H, T, D) -> (B, H, T, D)
        merged = mixed.transpose(1, 2).reshape(B, T, C)  # (B, H, T, D) -> (B, T, H, D) -> (B, T, C)
        return self.o_proj(merged)
