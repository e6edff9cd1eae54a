"""A transformer block: attention and feed-forward, each with a sum and a norm after it.

x = norm1(x + attention(x)), then norm2(x + ff(x)) of this new x; no mask, no dropout. Bring your
own ``MultiHeadSelfAttention`` from exercise5.
"""

from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    """H heads of softmax(q·kᵀ/√D)·v, concatenated in order, then ``unify_heads``; D = C/H.

    Head i takes the i-th block of D consecutive features. ``to_queries``, ``to_keys``,
    ``to_values`` and ``unify_heads`` are ``nn.Linear(C, C, bias=False)``.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; the message gives both numbers.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Attend within each sequence of ``x``, (B, T, C) -> (B, T, C)."""
        raise NotImplementedError


class TransformerBlock(nn.Module):
    """One post-norm block of width C, which is ``embed_dim``.

    Attributes:
        attention: ``MultiHeadSelfAttention(embed_dim, num_heads)``, with its ValueError.
        norm1: ``nn.LayerNorm(C)`` with torch's default eps: weight (C,), bias (C,).
        norm2: A second one, with weights of its own.
        ff: ``nn.Sequential(nn.Linear(C, 4C), nn.ReLU(), nn.Linear(4C, C))``, both with bias.

    Source: Vaswani et al. 2017, section 3.1, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Send ``x`` through attention and feed-forward, (B, T, C) -> (B, T, C)."""
        raise NotImplementedError


# The rules, the same in every exercise:
#
# - Modules and inputs are float32, float64 or bfloat16 (float16 is left open), on any device, even
#   ``meta``: compute in no narrower dtype, return the same one, don't branch on values.
# - B = 1, sequences of 1 to 257 tokens, non-contiguous inputs and scores up to 1e8 all give finite,
#   right values, and gradients reach every input but masks, and every parameter.
# - No input is changed in place; nothing is remembered from one call to the next.
# - The parameters are those named above and no others; buffers are free. The checks use your own
#   weights, so their first values are your choice where none are told.
# - Import the standard library, torch and numpy alone. ``scaled_dot_product_attention``,
#   ``nn.MultiheadAttention``, ``nn.Transformer...``: only below ``if __name__ == "__main__":``.
