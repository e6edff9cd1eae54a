"""Causal self-attention with linear biases (ALiBi): the further back a key, the lower its score.

The score of query position t for key position s ≤ t in head i is q·k/√D - slope_i·(t - s): the bias
comes after the scaling and before the softmax over the keys s ≤ t, and nothing else knows of
positions, which count from 0. Distances and biases are computed in float32 or float64, whatever the
dtype of ``x``; the sum with the scores may be rounded to that dtype.

The C features are shared among H heads of D = C/H each: head i works on the i-th block of D
consecutive features of q, k and v. The results of the heads are concatenated in order, (B, T, H·D),
and go through ``o_proj``. No dropout.
"""

from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    """The slope of each head.

    Where H is a power of two they fall geometrically: 2^(-8/H), 2^(-16/H), ..., 2^(-8). Where it
    is none, the slopes of the next lower power of two P come first; behind them, every second one
    of those of 2P follows, from its first on, until there are H.

    Args:
        num_heads: H, at least 1.

    Returns:
        (H,), float32.

    Source: Press et al. 2022, section 3, and its authors' code, arXiv:2108.12409
    """
    raise NotImplementedError


class AlibiSelfAttention(nn.Module):
    """Multi-head self-attention that looks back only, and less the further back it looks.

    Buffers are free where ``state_dict()`` leaves them out: it holds the four weights alone.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of heads, at least 1.

    Attributes:
        q_proj: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        k_proj: The same for the keys.
        v_proj: The same for the values.
        o_proj: The same for the concatenated heads.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; raised by the constructor, with
            both numbers in the message.

    Source: Press et al. 2022, section 3, arXiv:2108.12409
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to itself and to what came before it in its own sequence.

        Args:
            x: A batch of sequences, (B, T, C): any T from 1 to 4096, longer than any before as
                well.

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
