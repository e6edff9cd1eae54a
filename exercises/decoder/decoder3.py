"""Rotary positions: queries and keys are turned by where they stand, so that scores see distances.

``rotate`` turns each pair of features i and i + D/2, for i < D/2, by an angle: the token's position
times base^(-2i/D). Of a pair (a, b) it makes (a·cos − b·sin, b·cos + a·sin), in the places of a and
b. Pairs are halves apart, as in GPT-NeoX and Llama, not neighbours. Angles, their cosines and sines
are computed in float32, for a float64 ``x`` in float64: in bfloat16 there is no position 257.

``RotarySelfAttention`` has C features, shared among H heads of D = C/H each. Head i works on the
i-th block of D consecutive features of q, k and v alone. In each head queries and keys are rotated
with a base of 10000, values are not; then softmax(q·kᵀ/√D)·v, the softmax over the keys. The
results of the heads are concatenated in order, (B, T, H·D), and go through ``o_proj``. So positions
count by their differences alone. No mask, no dropout.
"""

from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of features by its token's position.

    Args:
        x: Queries or keys, (B, H, T, D).
        positions: Where the tokens stand: (T,), the same in every sequence, or (B, T). Positions
            are int64 or int32, on the device of ``x``, from −100 000 to 100 000: in any order, with
            gaps, repeated.
        base: Above 1; pair i turns by base^(-2i/D) from one position to the next.

    Returns:
        (B, H, T, D).

    Raises:
        ValueError: D is odd; the message gives D.

    Source: Su et al. 2021, section 3.4.2, arXiv:2104.09864; in halves: Black et al. 2022,
    arXiv:2204.06745
    """
    raise NotImplementedError


class RotarySelfAttention(nn.Module):
    """Several heads of self-attention that know where each token stands.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of heads, at least 1.

    Attributes:
        q_proj: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        k_proj: The same for the keys.
        v_proj: The same for the values.
        o_proj: The same for the concatenated heads.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``, or D is odd; raised by the
            constructor, with both numbers in the message.

    Source: Su et al. 2021, section 3.4.2, arXiv:2104.09864
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Let each position attend to every position of its own sequence, in each head.

        Args:
            x: A batch of sequences, (B, T, C).
            positions: Where the tokens stand, as in ``rotate``: (T,) or (B, T); None stands for 0
                to T − 1.

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
