"""One attention head on linear layers: softmax(q·kᵀ/√d_out)·v.

q, k and v are what the layers ``query``, ``key`` and ``value`` make of x. The softmax runs over
the keys: for each query the weights add up to 1.
"""

from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that may change the width.

    Args:
        d_in: Width of the input.
        d_out: Width of queries, keys, values and output.
        qkv_bias: Whether the three layers have a bias, (d_out,) each.

    Attributes:
        query: ``nn.Linear(d_in, d_out, bias=qkv_bias)``; its weight is (d_out, d_in).
        key: A second layer of the same shape.
        value: A third.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence.

        Args:
            x: One sequence (T, d_in), or a batch of them (B, T, d_in).

        Returns:
            (T, d_out) or (B, T, d_out), as ``x`` came.
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
