"""Self-attention, version 4, as interviews ask for it: with mask and dropout.

A second way: ``torch.einsum("bqc,bkc->bqk", q, k)`` for the scores and
``torch.einsum("bqk,bkc->bqc", weights, v)`` for the mix; the letters say aloud what is summed.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    """One head of self-attention with mask and dropout.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Let each position attend to the positions that it may see.

        Args:
            x: A batch of sequences, (B, T, C).
            attention_mask: Nonzero or True = may attend, zero = hidden; ``nn.MultiheadAttention``
                means the opposite. Broadcastable to (B, T, T), queries before keys.

        Returns:
            (B, T, C).
        """
        C = x.size(-1)
        q, k, v = self.q(x), self.k(x), self.v(x)  # (B, T, C) each
        # Divide by the root so that the softmax stays soft however large C is.
        scores = q @ k.mT / sqrt(C)  # (B, T, C) x (B, C, T) -> (B, T, T)
        if attention_mask is not None:
            # The lowest number of the dtype, where exercise3 has -inf: next to any visible score
            # its exp is 0 as well, and a row with nothing to see stays finite. A literal such as
            # -1e9 would not fit into float16. masked_fill gives back a new tensor: keep it.
            lowest = torch.finfo(scores.dtype).min
            scores = scores.masked_fill(attention_mask == 0, lowest)
        weights = self.dropout(scores.softmax(dim=-1))  # shares add up to 1 before some are dropped
        return weights @ v  # (B, T, T) x (B, T, C) -> (B, T, C)
