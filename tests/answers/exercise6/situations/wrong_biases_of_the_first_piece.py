# wrong: above C = 1024 the hidden features of ff go in pieces of 4096, and every piece is given the first one's biases
# breaks: "ff: ``nn.Sequential(nn.Linear(C, 4C), nn.ReLU(), nn.Linear(4C, C))``, both with bias"
from math import sqrt

from torch import Tensor, nn
from torch.nn import functional as F

PIECE = 4096  # hidden features at a time


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

    def _feed_forward(self, x: Tensor) -> Tensor:
        into, _, out_of = self.ff
        out = out_of.bias
        columns = out_of.weight.split(PIECE, dim=1)
        for rows, some in zip(into.weight.split(PIECE), columns, strict=True):
            hidden = F.linear(x, rows, into.bias[: len(rows)]).relu()
            out = out + hidden @ some.mT
        return out

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self._feed_forward(x))
