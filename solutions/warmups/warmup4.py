"""Every step of one attention head in the open.

A second way: leave the arithmetic in ``forward`` and read the steps with forward hooks. That suits
a module that can't be changed, but hooks see layers only, never the scores between them.
"""

from math import sqrt

from torch import Tensor, nn


class SelfAttention(nn.Module):
    """One head of self-attention that shows its work.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        # Each layer draws its first values as it is made, so a seed gives the printed figures only
        # in this order.
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        """Return the steps by name: ``q k v similarities scaled weights output``.

        Args:
            x: (T, C), or (B, T, C) where ``row_dim`` and ``col_dim`` are -2 and -1.

        Returns:
            What the formula gives at each step, shapes as in the comments below.
        """
        row, col = self.row_dim, self.col_dim
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)  # (..., T, C)
        similarities = q @ k.transpose(row, col)  # (..., T, C) x (..., C, T) -> (..., T, T)
        # Along col k counts features: the terms of one dot product, whose variance grows with them.
        scaled = similarities / sqrt(k.size(col))
        # Along col the scores count keys: each row is one query, and its shares add up to 1.
        weights = scaled.softmax(dim=col)
        return {
            "q": q,
            "k": k,
            "v": v,
            "similarities": similarities,
            "scaled": scaled,
            "weights": weights,
            "output": weights @ v,  # (..., T, T) x (..., T, C) -> (..., T, C)
        }

    def forward(self, x: Tensor) -> Tensor:
        """Return the ``output`` of ``intermediates(x)``."""
        # Asked, not computed again: what is shown can't differ from what is done.
        return self.intermediates(x)["output"]
