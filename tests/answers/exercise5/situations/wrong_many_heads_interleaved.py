# wrong: where sequences and heads are more than 256 in all (64 sequences, 8 heads) the heads go one by one and their features are interleaved, not concatenated
# breaks: "concatenated in order, (B, T, H·D)"
from math import sqrt

import torch
from torch import Tensor, nn

MANY = 256  # maps of (T, T) at a time


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

    def _mix_one_by_one(self, x: Tensor) -> Tensor:
        """The same, a head at a time."""
        layers = self.to_queries, self.to_keys, self.to_values
        heads = []
        every = zip(*(layer(x).chunk(self.num_heads, dim=-1) for layer in layers), strict=True)
        for q, k, v in every:
            weights = (q @ k.mT / sqrt(q.size(-1))).softmax(dim=-1)
            heads.append(weights @ v)
        return torch.stack(heads, dim=-1).flatten(2)

    def forward(self, x: Tensor) -> Tensor:
        many = len(x) * self.num_heads > MANY
        return self.unify_heads(self._mix_one_by_one(x) if many else self._mix(x))
