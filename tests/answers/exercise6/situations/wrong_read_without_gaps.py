# wrong: an x that is a part of wider features, as `wide[..., :C]` or `wide.chunk(2, -1)[0]`, is read as if its rows followed one another without a gap: other features are read
# breaks: "a non-contiguous ``x`` and large scores all give finite, right"
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

    def forward(self, x: Tensor) -> Tensor:
        T, C = x.shape[1:]
        if not x.is_contiguous():
            if x.stride(2) == 1 and x.stride(0) >= T * C:
                # Sequence after sequence, with a gap between them: no copy is needed.
                x = x.as_strided(x.shape, (x.stride(0), C, 1))
            else:
                x = x.contiguous()
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ff(x))
