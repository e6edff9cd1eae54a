"""Self-attention, version 3: with mask, dropout and output projection.

output_proj(dropout(softmax(mask(q·kᵀ/√C)))·v), the softmax over the keys: for each query the
weights add up to 1 before dropout, and hidden keys weigh exactly 0.
"""

from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    """One head of self-attention with everything that training asks for.

    Args:
        hidden_dim: C, the width of the model.
        dropout_rate: Chance of each weight to be dropped, 0 <= rate < 1: after the softmax, in
            training only, and with the rest scaled by 1/(1 - rate), as ``nn.Dropout`` does.

    Attributes:
        proj: ``nn.Linear(C, 3C)`` with bias: weight (3C, C), bias (3C,). Of its 3C outputs the
            first C are q, the next C are k, the last C are v.
        output_proj: ``nn.Linear(C, C)`` with bias: weight (C, C), bias (C,).

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Let each position attend to the positions that it may see.

        Args:
            x: A batch of sequences, (B, T, C).
            attention_mask: Nonzero or True = may attend, zero = hidden; ``nn.MultiheadAttention``
                means the opposite. Bool, int or float, any number; nonzero numbers all mean the
                same. Any shape that broadcasts to (B, T, T), queries before keys: (T,), (T, T),
                (B, 1, T), (B, T, 1), ... None hides nothing. A hidden key has no influence on the
                query's value or gradients. What a row with nothing to attend to gives is left open.

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
