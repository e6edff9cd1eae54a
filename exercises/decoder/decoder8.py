"""A decoder block as in Llama: RMSNorm before each sublayer, causal attention, SwiGLU, no biases.

h = x + attention(attention_norm(x)), then h + ffn(ffn_norm(h)). No positions, no dropout. Every
class below is graded by itself as well.
"""

from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Each vector divided by the root of its mean square: x / √(mean(x²) + eps) · weight.

    Of bfloat16, x / √(mean(x²) + eps) is computed in float32 and rounded to bfloat16 before it
    meets the weight; rounded after it will do as well. A vector of zeros gives zeros. The last
    rule below holds for torch's own ``rms_norm`` and ``nn.RMSNorm`` as well.

    Args:
        dim: C, the number of features, over which the mean is taken; none is subtracted.
        eps: Is added inside the root.

    Attributes:
        weight: (C,).

    Source: Zhang, Sennrich 2019, eq. 4, arXiv:1910.07467
    """

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Norm each vector of ``x``, with a batch dimension or without, (…, C) -> (…, C)."""
        raise NotImplementedError


class SwiGLU(nn.Module):
    """A gated feed-forward: down_proj(silu(gate_proj(x)) · up_proj(x)), silu(z) = z · sigmoid(z).

    What ``gate_proj`` gives counts as scores in the rules below: far below 0 as well.

    Attributes:
        gate_proj: ``nn.Linear(dim, hidden_dim, bias=False)``: weight (hidden_dim, dim).
        up_proj: A second one.
        down_proj: ``nn.Linear(hidden_dim, dim, bias=False)``.

    Source: Shazeer 2020, eq. 6, arXiv:2002.05202
    """

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Send each vector through, with a batch dimension or without, (…, C) -> (…, C)."""
        raise NotImplementedError


class CausalSelfAttention(nn.Module):
    """H heads of softmax(q·kᵀ/√D)·v, concatenated in order, then ``o_proj``; D = C/H.

    Head i takes the i-th block of D consecutive features. Position t attends to itself and to
    what came before it. ``q_proj``, ``k_proj``, ``v_proj`` and ``o_proj`` are
    ``nn.Linear(C, C, bias=False)``.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; the message gives both numbers.

    Source: Vaswani et al. 2017, section 3.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Attend to the past within each sequence of ``x``, (B, T, C) -> (B, T, C)."""
        raise NotImplementedError


class DecoderBlock(nn.Module):
    """One pre-norm block of width C, which is ``embed_dim``.

    Attributes:
        attention_norm: ``RMSNorm(embed_dim, eps)``.
        attention: ``CausalSelfAttention(embed_dim, num_heads)``, with its ValueError.
        ffn_norm: A second norm, with a weight of its own and the same ``eps``.
        ffn: ``SwiGLU(embed_dim, hidden_dim)``.

    Source: Touvron et al. 2023, section 2.2, arXiv:2302.13971
    """

    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Add to ``x`` what attention finds, then what the feed-forward makes of the sum.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C); no position depends on what comes after it.
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
