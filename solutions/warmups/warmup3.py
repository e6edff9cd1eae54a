"""One attention head on linear layers: softmax(q·kᵀ/√d_out)·v.

A second way: scale the queries before they meet the keys, ``q / √d_out``. That is T·d_out
divisions instead of T·T, and in half precision the scores never grow large on the way.
"""

from math import sqrt

from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that may change the width.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        # A linear layer brings what warmup2 did by hand: registered weights, sensible first
        # values, an optional bias. It keeps its weight as (d_out, d_in) and transposes in the call.
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence.

        Args:
            x: One sequence (T, d_in), or a batch of them (B, T, d_in).

        Returns:
            (T, d_out) or (B, T, d_out), as ``x`` came.
        """
        d_out = self.query.out_features
        q, k, v = self.query(x), self.key(x), self.value(x)  # (..., T, d_in) -> (..., T, d_out)
        # The root of d_out, not of d_in: d_out is the number of terms in each dot product.
        scores = q @ k.mT / sqrt(d_out)  # (..., T, d_out) x (..., d_out, T) -> (..., T, T)
        weights = scores.softmax(dim=-1)  # over the keys: each query's shares add up to 1
        return weights @ v  # (..., T, T) x (..., T, d_out) -> (..., T, d_out)
