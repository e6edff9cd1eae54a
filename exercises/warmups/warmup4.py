"""Every step of one attention head in the open: softmax(q·kᵀ/√C)·v.

After ``torch.manual_seed(42)``, ``SelfAttention()`` turns
[[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]] into
[[1.0100, 1.0641], [0.2040, 0.7057], [3.4989, 2.2427]], by way of the weights
[[0.3573, 0.4011, 0.2416], [0.3410, 0.6047, 0.0542], [0.0722, 0.0320, 0.8959]].
"""

from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that shows its work.

    Args:
        d_model: C, the width of the model.
        row_dim: Axis of ``x`` that counts tokens: 0 for (T, C); -2 for (T, C) and (B, T, C).
        col_dim: Axis of ``x`` that counts features: 1 for (T, C); -1 for (T, C) and (B, T, C).

    Attributes:
        W_q: ``nn.Linear(C, C, bias=False)`` for the queries. The three layers are made in this
            order, with torch's own first values and no other random draw, to match the figures.
        W_k: The same for the keys.
        W_v: The same for the values.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        raise NotImplementedError

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        """Return the steps by name: ``q k v similarities scaled weights output``, these seven.

        Args:
            x: (T, C), or (B, T, C) where ``row_dim`` and ``col_dim`` are -2 and -1.

        Returns:
            The three projections, (B, T, C) or (T, C); similarities: q·k', where k' is k with
            ``row_dim`` and ``col_dim`` swapped, (B, T, T) or (T, T); scaled: those / √(size of k
            along ``col_dim``); weights: softmax of scaled over ``col_dim``; output: weights·v.
        """
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return the ``output`` of ``intermediates(x)``."""
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
