"""Attention without weights: softmax(x·xᵀ)·x.

The vectors of a sequence are queries, keys and values at once, so there is nothing to learn.
Each output is a mix of all vectors of its sequence, weighted by how well they agree with it.
"""

from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    """Mix the vectors of each sequence, weighted by softmax(x·xᵀ).

    The scores are plain dot products, with no scale. The softmax runs over the keys: for each
    query the weights add up to 1. The sequences of a batch don't see each other.

    Args:
        x: A batch of sequences, (B, T, C).

    Returns:
        (B, T, C).
    """
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
