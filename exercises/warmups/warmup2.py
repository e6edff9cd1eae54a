"""One attention head on bare parameters: softmax(q·kᵀ/√d_out)·v.

q = x·query, k = x·key, v = x·value, with three matrices that the module learns. The softmax runs
over the keys: for each query the weights add up to 1.
"""

from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that may change the width.

    Keep first values small and centred on 0: numbers from [0, 1) give large scores, which saturate
    the softmax.

    Args:
        d_in: Width of the input.
        d_out: Width of queries, keys, values and output.

    Attributes:
        query: ``nn.Parameter``, (d_in, d_out).
        key: ``nn.Parameter``, (d_in, d_out).
        value: ``nn.Parameter``, (d_in, d_out).

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_in: int, d_out: int) -> None:
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
