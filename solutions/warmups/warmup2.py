"""One attention head on bare parameters: softmax(q·kᵀ/√d_out)·v.

A second way: keep the three matrices side by side in one (d_in, 3·d_out) parameter and cut the
product, as exercise2 does; one large product is faster than three small ones.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that may change the width.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        # nn.Parameter registers a tensor with the module, so that an optimiser can find it. The
        # numbers are small and centred on 0: scores then start near 0 and the softmax is soft,
        # whereas a saturated one has almost no gradient to learn from.
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence.

        Args:
            x: One sequence (T, d_in), or a batch of them (B, T, d_in).

        Returns:
            (T, d_out) or (B, T, d_out), as ``x`` came.
        """
        d_out = self.query.size(-1)
        q = x @ self.query  # (..., T, d_in) x (d_in, d_out) -> (..., T, d_out)
        k = x @ self.key  # (..., T, d_out)
        v = x @ self.value  # (..., T, d_out)
        # A dot product of d_out terms has a variance that grows with d_out; dividing by the root
        # keeps it near 1 whatever the width. mT, unlike T, leaves a batch axis where it is.
        scores = q @ k.mT / sqrt(d_out)  # (..., T, d_out) x (..., d_out, T) -> (..., T, T)
        weights = scores.softmax(dim=-1)  # over the keys: each query's shares add up to 1
        return weights @ v  # (..., T, T) x (..., T, d_out) -> (..., T, d_out)
