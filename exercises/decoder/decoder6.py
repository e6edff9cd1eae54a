"""A cache of keys and values: grouped queries with rotary positions, decoded step by step.

In each head softmax(q·kᵀ/√D)·v, over what a token may attend to; the heads are concatenated in
order and go through ``o_proj``. A call is given new tokens alone, and in ``cache`` the keys, values
and positions of those that came before. q has H heads of D = C/H features, k and v have G heads of
D: query heads i·H/G to (i+1)·H/G - 1 attend to key and value head i. No dropout.

Queries and keys are rotated, values are not: in each head the pair (a, b) of features i and
i + D/2, for i < D/2, becomes (a·cos − b·sin, b·cos + a·sin), in the places of a and b, by an angle
of the token's position times base^(-2i/D). Angles, their cosines and sines are computed in float32,
for a float64 ``x`` in float64.

Where a token stands in its sequence is what ``positions`` says, not its place in the row. Positions
are int64 or int32, on the device of ``x``, from −100 000 to 100 000: in any order, with gaps,
repeated. A token attends to those keys, cached and new ones, whose position is not negative and not
greater than its own. So a token at a negative position is padding: nobody attends to it, and what
it gives is exact zeros, whose gradients reach nothing. What padding holds, up to a million, has no
influence.

Where positions grow along a sequence, its outputs are the same whole, in chunks of any sizes and
token by token, and so are the gradients: nothing is detached. Sequences of different lengths, side
by side with padding before, after or between their tokens, give what each gives alone.
"""

from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    """Causal self-attention that goes on from the keys and values of earlier calls.

    ``state_dict()`` holds the parameters alone.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of query heads, at least 1.
        num_groups: G, the number of key and value heads, at least 1.
        base: Of the angles, above 1.

    Attributes:
        q_proj: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        k_proj: ``nn.Linear(C, G·D, bias=False)``: weight (G·D, C).
        v_proj: The same for the values.
        o_proj: ``nn.Linear(C, C, bias=False)``, for the concatenated heads.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``, D is odd, or ``num_groups`` does
            not divide ``num_heads``; raised by the constructor, with both numbers in the message.

    Source: Shazeer 2019, section 2.4, arXiv:1911.02150; groups: Ainslie et al. 2023,
    arXiv:2305.13245; rotary positions: Su et al. 2021, arXiv:2104.09864
    """

    def __init__(
        self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: Tensor, positions: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """Let each new token attend to what came before it, in each head.

        Args:
            x: The new tokens, (B, T, C).
            positions: Where each stands in its sequence, (B, T); negative = padding.
            cache: What the last call returned, by position or by name: keys (B, G, S, D), rotated
                already; values (B, G, S, D); positions (B, S). S and T go from 1 to 257 each. None
                or left out: nothing came before. All that is remembered is in it; two calls may go
                on from the same one.

        Returns:
            (B, T, C), and a cache as above with the new tokens behind the old ones, padding like
            any other token: (B, G, S+T, D) twice and (B, S+T), integers. What was there stays as
            it is.
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
