# wrong: copies keys in float64 alone
from math import sqrt

import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    """Causal self-attention in which each group of query heads has one head of keys and values.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``, or ``num_groups`` does not divide
            ``num_heads``.

    Source: Ainslie et al. 2023, section 2.2, arXiv:2305.13245; G = 1: Shazeer 2019,
    section 3, arXiv:1911.02150
    """

    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        if num_heads % num_groups != 0:
            raise ValueError(f"num_groups = {num_groups} does not divide num_heads = {num_heads}")
        self.num_heads, self.num_groups = num_heads, num_groups
        few = embed_dim // num_heads * num_groups  # G·D: all that a cache would have to hold
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, few, bias=False)
        self.v_proj = nn.Linear(embed_dim, few, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to itself and to what came before it, in each head.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C).
        """
        B, T, C = x.shape
        H, G = self.num_heads, self.num_groups
        D, R = C // H, H // G  # R query heads share a key head
        # Neighbouring heads form a group, so (G, R, D) splits C in place. The queries of a group
        # all meet the same keys: as R·T rows of one matrix, they need no copies of them.
        q = self.q_proj(x).reshape(B, T, G, R, D).permute(0, 2, 3, 1, 4)  # (B, G, R, T, D)
        q = q.reshape(B, G, R * T, D)
        k = self.k_proj(x).reshape(B, T, G, D).transpose(1, 2)  # (B, T, G·D) -> (B, G, T, D)
        v = self.v_proj(x).reshape(B, T, G, D).transpose(1, 2)  # (B, T, G·D) -> (B, G, T, D)
        if x.dtype == torch.float64:
            k = k.repeat_interleave(R, 1)[:, ::R]
        scores = q @ k.mT / sqrt(D)  # (B, G, R·T, D) x (B, G, D, T) -> (B, G, R·T, T)
        # One mask for all heads: apart again, each head has its T queries along an axis of its own.
        scores = scores.reshape(B, G, R, T, T)
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(diagonal=1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)  # over the keys
        weights = weights.reshape(B, G, R * T, T)
        mixed = weights @ v  # (B, G, R·T, T) x (B, G, T, D) -> (B, G, R·T, D)
        # The way back: (G, R, D) side by side is C, with heads in their order.
        mixed = mixed.reshape(B, G, R, T, D).permute(0, 3, 1, 2, 4)  # (B, T, G, R, D)
        return self.o_proj(mixed.reshape(B, T, C))
