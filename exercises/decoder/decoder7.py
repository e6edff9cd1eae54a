"""Sliding-window attention with a rolling cache: each token sees itself and the last few before it.

In each head token t attends to itself and to the ``window`` - 1 tokens before it, or to as many as
there are: softmax(q·kᵀ/√D)·v over these keys alone. The C features are shared among H heads of
D = C/H each: head i works on the i-th block of D consecutive features of q, k and v. The results of
the heads are concatenated in order, (B, T, H·D), and go through ``o_proj``. No positions are
encoded. No dropout.

So this is causal attention where the whole sequence is no longer than the window, and
``o_proj(v_proj(x))`` where the window is 1. A token outside the window, before it or after it, has
a weight of exactly 0: it has no influence and gets no gradient, even where it holds numbers as
large as 1e30.

A sequence may come in parts of any lengths, of one token or of more than a window: each has at most
257, the whole has no limit. Each call takes the new tokens alone and the cache that the call before
it gave. In parts a sequence gives what it gives at once: outputs, the last cache and all gradients,
which flow through the caches. All that is remembered is in the cache, nothing in the module;
several calls may go on from one cache.
"""

from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    """Several heads of causal self-attention that look back a window and no further.

    ``state_dict()`` holds the parameters alone, so that it loads into a module of another window.

    Args:
        embed_dim: C, the width of the model.
        num_heads: H, the number of heads, at least 1.
        window: How many tokens each one sees, itself included, at least 1. It may be far larger
            than any sequence, up to 1e9, and costs no memory by itself.

    Attributes:
        q_proj: ``nn.Linear(C, C, bias=False)``: weight (C, C).
        k_proj: The same for the keys.
        v_proj: The same for the values.
        o_proj: The same for the concatenated heads.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; raised by the constructor, with
            both numbers in the message. Or ``window`` is less than 1, with that number.

    Source: Jiang et al. 2023, section 2, arXiv:2310.06825
    """

    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Let each new token attend to itself and to the window - 1 tokens before it.

        Args:
            x: The new tokens of a batch of sequences, (B, T, C).
            cache: Keys and values of the last S tokens before them, the oldest first, each
                (B, H, S, D), as ``k_proj`` and ``v_proj`` gave them; S is ``window``, or less where
                fewer tokens came before. By position or by name; None or left out, x is the
                beginning.

        Returns:
            The output, (B, T, C), and the cache for the call that goes on from here: a tuple of
            keys and values, each (B, H, min(S + T, window), D), on the device of ``x``. The cache
            does not grow: under ``torch.no_grad()`` its two tensors keep no more than twice the
            memory alive that they hold. A slice keeps all of what it was cut from.
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
