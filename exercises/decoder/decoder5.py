"""Grouped-query attention: several query heads share one head of keys and values. Causal.

In each head softmax(q·kᵀ/√D)·v, in which position t sees positions 0 to t alone; the heads are
concatenated in order and go through ``o_proj``. No dropout.

q has H heads of D = C/H features, k and v have G heads of D. Query heads i·H/G to (i+1)·H/G - 1
attend to key and value head i. G = H is multi-head, G = 1 is multi-query attention.

Keys and values are shared, not copied: on the way to the output no tensor holds each key or value
H/G times. ``repeat_interleave`` makes one, a ``reshape`` after ``expand`` does, and so does a
product ``@`` that has to broadcast them over the heads of a group.
"""

from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    """Causal self-attention in which each group of query heads has one head of keys and values.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of query heads, at least 1.
        num_groups: G, the number of key and value heads, at least 1.

    Attributes:
        q_proj: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        k_proj: ``nn.Linear(C, G·D, bias=False)``: weight (G·D, C).
        v_proj: The same for the values.
        o_proj: ``nn.Linear(C, C, bias=False)``, for the concatenated heads.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``, or ``num_groups`` does not divide
            ``num_heads``; raised by the constructor, with both numbers in the message.

    Source: Ainslie et al. 2023, section 2.2, arXiv:2305.13245; G = 1: Shazeer 2019,
    section 3, arXiv:1911.02150
    """

    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to itself and to what came before it, in each head.

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
