# wrong: after a call with one token that raised an exception (an x of another dtype, say) the module has one head for good: the number is set back only where nothing fails
# breaks: "nothing is remembered from one call to the next"
from math import sqrt

from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
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

    def _mix_one_token(self, x: Tensor) -> Tensor:
        """One key alone weighs 1 in every head: as one head it takes a single product."""
        heads, self.num_heads = self.num_heads, 1
        mixed = self._mix(x)
        self.num_heads = heads
        return mixed

    def forward(self, x: Tensor) -> Tensor:
        mixed = self._mix_one_token(x) if x.size(1) == 1 else self._mix(x)
        return self.unify_heads(mixed)
