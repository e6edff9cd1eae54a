# wrong: where unify_heads learns and the other three layers are frozen, x gets no gradient: what is below unify_heads is made without a graph
# breaks: "gradients reach ``x`` and every parameter"
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

    def _only_the_last_learns(self) -> bool:
        below = self.to_queries, self.to_keys, self.to_values
        frozen = not any(layer.weight.requires_grad for layer in below)
        return frozen and self.unify_heads.weight.requires_grad

    def forward(self, x: Tensor) -> Tensor:
        mixed = self._mix(x)
        if self._only_the_last_learns():
            mixed = mixed.detach()  # a probe on top of frozen heads: no backward below it
        return self.unify_heads(mixed)
