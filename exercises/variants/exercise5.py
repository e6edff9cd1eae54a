"""Multi-head self-attention: in each head softmax(q·kᵀ/√D)·v, then the heads united.

The C features are shared among H heads of D = C/H each. Head i works on the i-th block of D
consecutive features of q, k and v alone; its softmax runs over the keys. The results of the heads
are concatenated in order, (B, T, H·D), and go through ``unify_heads``. No mask, no dropout.
"""

from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    """Several heads of self-attention side by side.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of heads, at least 1.

    Attributes:
        to_queries: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        to_keys: The same for the keys.
        to_values: The same for the values.
        unify_heads: The same for the concatenated heads.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; raised by the constructor, with
            both numbers in the message.

    Source: Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence, in each head.

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
