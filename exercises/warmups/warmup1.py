"""Attention without weights: softmax(x·xᵀ)·x.

The vectors of a sequence are queries, keys and values at once, so there is nothing to learn.
Each output is a mix of all vectors of its sequence, weighted by how well they agree with it.

The rules, the same in every exercise:

- ``x`` is float32, float64 or bfloat16 (float16 is left open), on any device, even ``meta``:
  compute in no narrower dtype, return the same one, don't branch on values.
- B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right
  values, and gradients reach ``x``.
- ``x`` is not changed in place; nothing is remembered from one call to the next.
- Import only the standard library, torch and numpy. Outside ``if __name__ == "__main__":`` don't
  use ``scaled_dot_product_attention``, ``multi_head_attention_forward``,
  ``nn.MultiheadAttention`` or any ``nn.Transformer...`` class.
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

    Source: the notebook "Multi-Headed Self-Attention"
    """
    raise NotImplementedError
