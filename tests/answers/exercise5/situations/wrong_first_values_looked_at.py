# wrong: the module can't be made on meta (`with torch.device("meta"):`): the constructor draws its weights and then looks whether they are finite
# breaks: "on any device, even ``meta``"
from math import sqrt

import torch
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
        for layer in self.children():
            nn.init.xavier_uniform_(layer.weight)
            if not torch.isfinite(layer.weight).all():
                raise RuntimeError("the first weights are not finite")

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
