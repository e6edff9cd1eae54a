"""Self-attention, version 2: one fused projection, then softmax(q·kᵀ/√C)·v.

A second way: ``self.proj(x).unflatten(-1, (3, C)).unbind(-2)`` gives the three their own axis
first; q, k and v lie in the same order either way.
"""

from math import sqrt

from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    """One head of self-attention with queries, keys and values from one layer.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        # One product with a (3C, C) weight reads x once and keeps a GPU busier than three with
        # (C, C). Row for row it is the three weights of version 1 on top of each other.
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C).
        """
        C = x.size(-1)
        q, k, v = self.proj(x).chunk(3, dim=-1)  # (B, T, 3C) -> three of (B, T, C)
        # The scale belongs inside the softmax: it keeps the scores' variance near 1, whatever C.
        scores = q @ k.mT / sqrt(C)  # (B, T, C) x (B, C, T) -> (B, T, T)
        weights = scores.softmax(dim=-1)  # over the keys: each query's row adds up to 1
        return weights @ v  # (B, T, T) x (B, T, C) -> (B, T, C)
