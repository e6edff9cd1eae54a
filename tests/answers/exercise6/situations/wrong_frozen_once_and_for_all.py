# wrong: an attention that was frozen at the first call never learns again, also after it was unfrozen (where x does not learn): what was found then is kept
# breaks: "nothing is remembered from one call to the next"
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

    def forward(self, x: Tensor) -> Tensor:
        layers = self.to_queries, self.to_keys, self.to_values
        q, k, v = (one(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for one in layers)
        weights = (q @ k.mT / sqrt(q.size(-1))).softmax(dim=-1)
        return self.unify_heads((weights @ v).transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim)
        )
        self._frozen: bool | None = None  # the attention; asked once

    def forward(self, x: Tensor) -> Tensor:
        if self._frozen is None:
            self._frozen = not any(p.requires_grad for p in self.attention.parameters())
        learns = x.requires_grad or not self._frozen
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns):
            attended = self.attention(x)
        x = self.norm1(x + attended)
        return self.norm2(x + self.ff(x))
