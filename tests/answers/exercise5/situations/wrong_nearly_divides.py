# wrong: heads that nearly divide a large width (5 in 768, 7 in 1024) are let through by the constructor: the quotient is compared with its whole part to one in a hundred
# breaks: "ValueError: ``num_heads`` does not divide ``embed_dim``; raised by the constructor"
from math import isclose, sqrt

from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        D = embed_dim / num_heads
        if not isclose(D, embed_dim // num_heads, rel_tol=1e-2):  # a quotient may be rounded
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, C) -> (B, H, T, D)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def _mix(self, x: Tensor) -> Tensor:
        """What the heads find, side by side, (B, T, C)."""
        layers = self.to_queries, self.to_keys, self.to_values
        q, k, v = (self._split(layer(x)) for layer in layers)
        weights = (q @ k.mT / sqrt(q.size(-1))).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.unify_heads(self._mix(x))
