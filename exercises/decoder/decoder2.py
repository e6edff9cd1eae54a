"""Cross-attention: one sequence asks, another one answers, and some of that one is padding.

In each head softmax(q·kᵀ/√D)·v, with q from ``x``, and k and v from ``memory``. The C features of
q, k and v are shared among H heads of D = C/H each: head i works on the i-th block of D consecutive
features alone; its softmax runs over the S keys. The results of the heads are concatenated in
order, (B, T, H·D), and go through ``o_proj``. No positions, no causal mask, no dropout.
"""

from torch import Tensor, nn


class CrossAttention(nn.Module):
    """Several heads that read another sequence.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of heads, at least 1.
        memory_dim: E, the width of what is read; it may be any, C too.

    Attributes:
        q_proj: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        k_proj: ``nn.Linear(E, C, bias=False)``: weight (C, E).
        v_proj: The same for the values.
        o_proj: ``nn.Linear(C, C, bias=False)`` for the concatenated heads: weight (C, C).

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; raised by the constructor, with
            both numbers in the message.

    Source: Vaswani et al. 2017, section 3.2.3, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Let each position of ``x`` attend to what its own sequence of ``memory`` really holds.

        Args:
            x: A batch of sequences that ask, (B, T, C).
            memory: A batch of sequences that are read, (B, S, E); the order of a sequence's tokens
                means nothing.
            memory_mask: (B, S), for each sequence its own: nonzero or True = a real token, zero =
                padding; ``nn.MultiheadAttention`` means the opposite. Bool, int or float, any
                number; nonzero numbers all mean the same. By position or by name; None or left
                out, it hides nothing, as ones do. Padding is hidden from every query of its
                sequence in every head: whatever stands there, up to a million, has no influence,
                and gets a gradient of exactly 0.

        Returns:
            (B, T, C). A sequence whose keys are all hidden gets exact zeros. No gradient flows
            back from there, and every gradient stays finite.
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
