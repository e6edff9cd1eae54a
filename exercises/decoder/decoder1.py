"""Causal multi-head self-attention: no token sees what comes after it.

In each head, token t weighs the tokens up to itself by softmax(q·kᵀ/√D) and mixes their values v;
then the heads are united. The C features are shared among H heads of D = C/H each: head i works on
the i-th block of D consecutive features of q, k and v alone. The results of the heads are
concatenated in order, (B, T, H·D), and go through ``o_proj``. No dropout.

A later token has a weight of exactly 0: it has no influence on an earlier one and gets no gradient
from it, even where it holds numbers as large as 1e30. So the beginning of a sequence gives what it
gives alone.
"""

from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Several heads of self-attention side by side, each of which sees the past alone.

    ``state_dict()`` holds the parameters alone, so that it loads into a module of another
    ``max_len``: a mask is made in ``forward``, or is a buffer that is not saved.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of heads, at least 1.
        max_len: The longest sequence that is taken, at least 1: any T from 1 to ``max_len``, beyond
            257 as well. However large it is, T tokens take T × T scores in each head.

    Attributes:
        q_proj: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        k_proj: The same for the keys.
        v_proj: The same for the values.
        o_proj: The same for the concatenated heads.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; raised by the constructor, with
            both numbers in the message.

    Source: Vaswani et al. 2017, sections 3.2.2 and 3.2.3, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Let each token attend to itself and to all before it in its own sequence, in each head.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C).

        Raises:
            ValueError: T is more than ``max_len``; the message gives both numbers.
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
