"""Self-attention, version 1: three projections and softmax(q·kᵀ/√C)·v.

q, k and v are what the three layers make of x. The softmax runs over the keys: for each query the
weights add up to 1.
"""

from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    """One head of self-attention as wide as the model.

    Args:
        hidden_dim: C, the width of the model.

    Attributes:
        q: ``nn.Linear(C, C)`` with bias, for the queries: weight (C, C), bias (C,).
        k: The same for the keys.
        v: The same for the values.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence.

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
