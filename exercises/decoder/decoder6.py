"""A cache of keys and values: grouped queries with rotary positions, decoded step by step.

A call is given new tokens alone, and in ``cache`` the keys, values and positions of those that
came before. q has H heads of D = C/H features, k and v have G heads of D: query heads i·H/G to
(i+1)·H/G - 1 attend to key and value head i. Queries and keys are rotated, values are not: in each
head the pair (a, b) of features i and i + D/2, for i < D/2, becomes (a·cos − b·sin, b·cos + a·sin),
in the places of a and b, by an angle of the token's position times base^(-2i/D). In each head
softmax(q·kᵀ/√D)·v, over what a token may attend to; the heads are concatenated in order and go
through ``o_proj``. No dropout.

Where a token stands in its sequence is what ``positions`` says, not its place in the row. A token
attends to those keys, cached and new ones, whose position is not negative and not greater than its
own. So a token at a negative position is padding: nobody attends to it, and what it gives is exact
zeros, whose gradients reach nothing. What padding holds, up to a million, has no influence.

Where positions grow along a sequence, its outputs are the same whole, in chunks of any sizes and
token by token, and so are the gradients: nothing is detached. Sequences of different lengths, side
by side with padding before, after or between their tokens, give what each gives alone.

The rules, nearly the same in every exercise:

- Module, ``x``, keys and values are float32, float64 or bfloat16 (float16 is left open), on any
  device, even ``meta``: compute in no narrower dtype, return the same one, don't branch on values.
- Angles, their cosines and sines are computed in float32, for a float64 ``x`` in float64.
- Positions are int64 or int32, on the device of ``x``, from −100 000 to 100 000: in any order, with
  gaps, repeated.
- B = 1, any T and any S from 1 to 257, non-contiguous inputs and large scores all give finite,
  right values, and gradients reach ``x``, cached keys, cached values and every parameter.
- No input is changed in place, the tensors of ``cache`` neither: two calls may go on from the same
  one. Nothing is remembered from one call to the next but in ``cache``.
- The parameters are those named below and no others, and ``state_dict()`` holds nothing else. The
  checks use your own weights, so their first values are your choice.
- Import only the standard library, torch and numpy. Outside ``if __name__ == "__main__":`` don't
  use ``scaled_dot_product_attention``, ``multi_head_attention_forward``,
  ``nn.MultiheadAttention`` or any ``nn.Transformer...`` class.
"""

from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    """Causal self-attention that goes on from the keys and values of earlier calls.

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
                already; values (B, G, S, D); positions (B, S). None or left out: nothing came
                before.

        Returns:
            (B, T, C), and a cache as above with the new tokens behind the old ones, padding like
            any other token: (B, G, S+T, D) twice and (B, S+T), integers. What was there stays as
            it is.
        """
        raise NotImplementedError
